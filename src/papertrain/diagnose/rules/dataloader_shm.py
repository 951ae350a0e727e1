"""/dev/shm is too small for the data loader."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR508",
    "dataloader-shm",
    "memory-host-shm",
    title="/dev/shm is too small for the data loader",
    why="Workers hand batches over through shared memory; containers give 64 MB unless told otherwise.",
    sig=(
        "is killed by signal: Bus error",
        "insufficient shared memory (shm)",
        "out of shared memory",
        "ERROR: Unexpected bus error encountered in worker",
    ),
    confidence=0.94,
    unlike=(("dataloader-worker-killed-ram", "the signal is Bus error (shared memory), not Killed (RAM)"),),
    next_check="df -h /dev/shm",
    fixes=(
        fix(
            "give the container shared memory",
            "docker run --shm-size=16g …   # or --ipc=host; Kubernetes: an emptyDir with medium: Memory at /dev/shm",
            proof="df -h /dev/shm shows the new size",
        ),
        fix("no worker processes", sets={"dataloader_num_workers": 0}),
        fix("hand tensors over through files", "torch.multiprocessing.set_sharing_strategy('file_system')"),
    ),
    fires="RuntimeError: DataLoader worker (pid 92) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit.",
    quiet="shared memory: 64 GB free",
)
