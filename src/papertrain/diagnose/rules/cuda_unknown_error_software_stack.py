"""CUDA does not start: driver, kernel module and library do not fit."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR532",
    "cuda-unknown-error-software-stack",
    "hardware",
    title="CUDA does not start: driver, kernel module and library do not fit",
    why="The error comes before any kernel of the program runs: a driver that was updated without a reboot, missing device files, or a wrong container runtime.",
    sig=(
        "CUDA unknown error - this may be due to an incorrectly set up environment",
        "CUDA error: unknown error",
        "Failed to initialize NVML",
        "Driver/library version mismatch",
        "CUDA error: initialization error",
        "CUDA error: system not yet initialized",
        "no NVIDIA driver on your system",
        "no CUDA-capable device is detected",
    ),
    confidence=0.86,
    next_check="nvidia-smi; cat /proc/driver/nvidia/version; python -c 'import torch; print(torch.version.cuda, torch.cuda.is_available())'",
    fixes=(
        fix(
            "make driver and kernel module agree (a reboot after an update), start fabric manager on NVSwitch machines, give the container the devices",
            "sudo systemctl start nvidia-fabricmanager",
            "docker run --gpus all …",
            proof="torch.cuda.is_available() is True",
        ),
    ),
    kinds=(
        (
            "No CUDA GPUs are available|no (?:available )?(?:GPUs?|CUDA)(?: device)?s? (?:is |are |was )?(?:found|available|detected)|CUDA (?:is )?not available|GPU is required|requires? (?:a )?(?:GPU|CUDA)\\b|only (?:be used|supported|available) on (?:CUDA|GPU)",
            "RuntimeError: No CUDA GPUs are available",
        ),
        (
            "CUDNN_STATUS_|cuDNN error|CUBLAS_STATUS_INVALID_VALUE|(?:libcublas|libcudart|libcudnn|libnccl|libnv\\w+|libcuda)\\b[\\w.]*.{0,80}(?:cannot|undefined|not found)|Triton Error \\[CUDA\\]",
            "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED",
        ),
    ),
    kind_confidence=0.45,
    fires="RuntimeError: CUDA unknown error - this may be due to an incorrectly set up environment, e.g. changing env variable CUDA_VISIBLE_DEVICES after program start.",
    quiet="CUDA 12.4 initialised",
)
