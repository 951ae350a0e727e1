"""The NVIDIA driver is older than this torch needs."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR583",
    "cuda-driver-too-old",
    "environment",
    title="The NVIDIA driver is older than this torch needs",
    why="The warning stands at the start; the run may go on silently on the CPU.",
    sig=(
        "The NVIDIA driver on your system is too old",
        "CUDA driver version is insufficient for CUDA runtime version",
        "forward compatibility was attempted on non supported HW",
        "the provided PTX was compiled with an unsupported toolchain",
    ),
    confidence=0.96,
    early=True,
    next_check="nvidia-smi | head -4; python -c 'import torch; print(torch.version.cuda)'",
    fixes=(
        fix(
            "a torch for the CUDA version that this driver supports",
            "pip install torch --index-url <index of that CUDA version>",
            proof="torch.cuda.is_available() is True",
        ),
        fix("a newer driver", "nvidia-smi   # then the distribution's driver package, and a reboot"),
    ),
    fires="UserWarning: CUDA initialization: The NVIDIA driver on your system is too old (found version 11040). Please update your GPU driver",
    quiet="driver 550.54.15, CUDA 12.4",
)
