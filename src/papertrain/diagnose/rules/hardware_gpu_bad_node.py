"""One node of many cannot start: its card is not free or not healthy."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR505",
    "hardware-gpu-bad-node",
    "memory-gpu",
    title="One node of many cannot start: its card is not free or not healthy",
    why="The same job fits on the other nodes; the memory of this one is held by a leftover process or the card is damaged.",
    sig=(
        "all CUDA-capable devices are busy or unavailable",
        "CUDA-capable device(s) is/are busy",
    ),
    confidence=0.8,
    next_check="nvidia-smi --query-compute-apps=pid,used_memory --format=csv   # on the node that is named in the log",
    fixes=(
        fix(
            "leave this node out and start again",
            "sbatch --exclude=<node> job.sh",
            "nvidia-smi   # then drain or reset it",
            proof="the job starts on the other nodes",
        ),
    ),
    fires="RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable",
    quiet="all devices are available: 8 of 8",
)
