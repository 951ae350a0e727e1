"""NCCL could not create its shared-memory segment."""

from papertrain.diagnose.rule import cause, fix
from papertrain.diagnose.rules import _nccl as nccl

RULE = cause(
    "TR511",
    "nccl-system-error-shm",
    "nccl-hang",
    title="NCCL could not create its shared-memory segment",
    why="The line above the unhandled system error names the shared-memory call that failed.",
    share=nccl.judge,
    sig=nccl.SIGNATURES,
    next_check="df -h /dev/shm",
    fixes=(
        fix("a larger /dev/shm", "docker run --shm-size=16g …   # or --ipc=host", proof="df -h /dev/shm"),
        fix("without NCCL's shared-memory transport (slower)", env={"NCCL_SHM_DISABLE": "1"}),
    ),
    fires="gpu1:77:91 [0] include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left on device\nncclSystemError: System call (socket, malloc, munmap, etc) failed.",
    quiet="NCCL INFO Channel 00 : 0[1a000] -> 1[1b000] via SHM/direct",
)
