"""The NPU's memory is used by somebody else."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR503",
    "npu-oom-device-visibility",
    "memory-gpu",
    title="The NPU's memory is used by somebody else",
    why="Little is allocated here and yet almost nothing is free: the container sees every device and took one that is busy.",
    sig=("NPU out of memory",),
    confidence=0.85,
    next_check="npu-smi info   # which process holds the memory of this device",
    fixes=(
        fix(
            "use a free device, and mount only the assigned one into the container",
            "npu-smi info",
            env={"ASCEND_RT_VISIBLE_DEVICES": "<free device>"},
            proof="free memory at the start is the card's own size",
        ),
        fix(
            "if the memory is the run's own: half the micro-batch, twice the accumulation",
            sets={"micro_batch_size": "/2", "gradient_accumulation_steps": "*2"},
        ),
    ),
    fires="RuntimeError: NPU out of memory. Tried to allocate 20.00 MiB (NPU 0; 60.97 GiB total capacity; 4.02 GiB already allocated; 11.35 MiB free)",
    quiet="NPU 0 initialised",
)
