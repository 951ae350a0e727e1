"""Ranks died with SIGBUS: shared memory ran out under NCCL."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR510",
    "exit-7-sigbus-shm",
    "memory-host-shm",
    title="Ranks died with SIGBUS: shared memory ran out under NCCL",
    why="Exit code -7 is a bus error; NCCL maps its buffers in /dev/shm and all ranks touch a page that does not exist.",
    sig=(
        "exitcode: -7",
        "exitcode  : -7",
        "Signal 7 (SIGBUS)",
        "terminated with signal SIGBUS",
        "Fatal Python error: Bus error",
        "exit code -7",
        "return code = -7",
        "exits with return code = -7",
    ),
    confidence=0.88,
    more=("ncclGroupEnd",),
    next_check="df -h /dev/shm",
    fixes=(
        fix(
            "give the container shared memory",
            "docker run --shm-size=16g …   # or --ipc=host",
            proof="df -h /dev/shm; the ranks pass the first collective",
        ),
    ),
    fires="torch.distributed.elastic.multiprocessing.api: [ERROR] failed (exitcode: -7) local_rank: 2 (pid: 88) of binary: python",
    quiet="failed (exitcode: 1) local_rank: 2 (pid: 88)",
)
