"""No space left in shared memory (not on the disk)."""

from papertrain.core.findings import RuledOut
from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, by_signature, cause, fix


def judge(case: Case) -> Match | None:
    strong = by_signature(RULE, case)
    if strong is not None:
        return strong
    for e in case.exceptions:
        if "No space left on device" in e.message and e.has_frame(
            "multiprocessing", "torch_shm", "/dev/shm", "reductions.py"
        ):
            return RULE.found(
                0.88,
                [e.quote()],
                ruled_out=(
                    RuledOut(
                        cls="disk-full-checkpoint",
                        because="the frames are in multiprocessing's shared memory, not in saving",
                    ),
                ),
            )
    return None


RULE = cause(
    "TR509",
    "shm-no-space-left",
    "memory-host-shm",
    title="No space left in shared memory (not on the disk)",
    why="Errno 28 comes from /dev/shm: the frame or the path is torch's shared-memory manager, multiprocessing, or NCCL.",
    judge=judge,
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
