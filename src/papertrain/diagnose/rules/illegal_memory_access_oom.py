"""Illegal memory access on the device."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR502",
    "illegal-memory-access-oom",
    "memory-gpu",
    title="Illegal memory access on the device",
    why="A kernel read outside of its buffer. With large batches this is often an index that overflows 32 bits or a failed allocation inside an extension; the cheap test is half the batch.",
    sig=("an illegal memory access was encountered", "cudaErrorIllegalAddress", "CUDA_ERROR_ILLEGAL_ADDRESS"),
    confidence=0.6,
    never=("Xid", "srcIndex < srcSelectDimSize", "uncorrectable ECC"),
    yields=("hardware-gpu-xid", "hardware-gpu-ecc", "device-assert-token-range"),
    next_check="CUDA_LAUNCH_BLOCKING=1 python train.py   # names the kernel; then once with half the micro-batch",
    fixes=(
        fix(
            "half the micro-batch, twice the accumulation",
            sets={"micro_batch_size": "/2", "gradient_accumulation_steps": "*2"},
            proof="the same step passes",
        ),
        fix(
            "the attention kernel that ships with torch instead of an extension",
            sets={"attention": "sdpa"},
            proof="the step passes with sdpa: then the extension is at fault",
        ),
    ),
    fires="RuntimeError: CUDA error: an illegal memory access was encountered",
    quiet="memory access pattern: coalesced",
)
