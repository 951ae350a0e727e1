"""The device stopped answering."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR529",
    "hardware-gpu-crash",
    "hardware",
    title="The device stopped answering",
    why="A launch failed without any assertion of the program: the card, its power or its cable.",
    sig=(
        "CUDA error: unspecified launch failure",
        "CUDA error: device not ready",
        "cudaErrorDevicesUnavailable",
        "CUDA error: misaligned address",
        "unrecoverable error ~ (?i)gpu.*unrecoverable",
        "GPU crash",
        "GPU is lost",
        "Unable to determine the device handle for GPU",
    ),
    confidence=0.62,
    yields=("hardware-gpu-xid", "hardware-gpu-ecc", "device-assert-token-range", "device-assert-label-range"),
    next_check="dmesg -T | grep -iE 'xid|nvrm'   # and the same job on another node",
    fixes=(
        fix(
            "the same step on another card; if it passes there, drain this one",
            "sbatch --exclude=<node> job.sh",
            "CUDA_LAUNCH_BLOCKING=1 python train.py",
            proof="the step passes elsewhere",
        ),
    ),
    fires="RuntimeError: CUDA error: unspecified launch failure",
    quiet="launch succeeded on 8 devices",
)
