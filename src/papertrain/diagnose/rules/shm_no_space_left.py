"""No space left in shared memory (not on the disk)."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR509",
    "shm-no-space-left",
    "memory-host-shm",
    title="No space left in shared memory (not on the disk)",
    why="Errno 28 comes from /dev/shm: the frame or the path is torch's shared-memory manager, multiprocessing, or NCCL.",
    sig=(
        "torch_shm_manager",
        "unable to open shared memory object",
        "unable to allocate shared memory",
        "unable to write to file </torch_",
        "unable to mmap",
        "No space left on device ~ /dev/shm|torch_shm|torch_[0-9]+_|torch/multiprocessing|multiprocessing/(?:heap|shared|queues|synchronize)|No space left on device: '/psm_",
        "/dev/shm ~ /dev/shm[^\\n]*(No space|error|failed|full)",
    ),
    confidence=0.88,
    yields=("dataloader-shm", "nccl-system-error-shm"),
    unlike=(("disk-full-checkpoint", "the path is shared memory, not a checkpoint's folder"),),
    next_check="df -h /dev/shm; df -i /dev/shm",
    fixes=(
        fix(
            "a larger /dev/shm",
            "docker run --shm-size=16g …   # or: mount -o remount,size=64G /dev/shm",
            proof="df -h /dev/shm",
        ),
        fix("hand tensors over through files", "torch.multiprocessing.set_sharing_strategy('file_system')"),
    ),
    fires="RuntimeError: unable to write to file </torch_4242_1029384_7>: No space left on device (28)",
    quiet="OSError: [Errno 28] No space left on device: 'out/checkpoint-500/optimizer.pt'",
)
