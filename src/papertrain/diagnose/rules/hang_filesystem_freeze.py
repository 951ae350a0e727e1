"""A rank hangs in the file system."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR523",
    "hang-filesystem-freeze",
    "nccl-hang",
    title="A rank hangs in the file system",
    why="One process is in state D (uninterruptible) or the kernel reports a server that does not answer; the others only wait for it.",
    sig=(
        "not responding, still trying",
        "blocked for more than 120 seconds",
        "Stale file handle",
        "Errno 116",
        "LustreError",
        "Input/output error ~ /(?:nfs|mnt|lustre|gpfs|shared|data)\\S*",
        "Transport endpoint is not connected",
    ),
    confidence=0.8,
    early=True,
    yields=("disk-full-checkpoint",),
    next_check="ps -eo pid,stat,wchan,cmd | awk '$2 ~ /D/'   # on the node of the rank that is silent",
    fixes=(
        fix(
            "another place for data and checkpoints; then start again from the last checkpoint",
            "sbatch --exclude=<node> job.sh",
            sets={"output_dir": "<local disk>"},
            proof="the same step passes",
        ),
    ),
    fires="kernel: nfs: server storage01 not responding, still trying",
    quiet="nfs mounted at /data",
)
