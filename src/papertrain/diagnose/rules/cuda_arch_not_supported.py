"""The installed wheels have no kernels for this card."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR582",
    "cuda-arch-not-supported",
    "environment",
    title="The installed wheels have no kernels for this card",
    why="The card is newer (or much older) than the build of torch or of an extension.",
    sig=(
        "no kernel image is available for execution on the device",
        "is not compatible with the current PyTorch installation",
        "cudaErrorNoKernelImageForDevice",
        "ptxas fatal   : Value 'sm_",
        "CUDA capability sm_",
        "unsupported gpu architecture",
    ),
    confidence=0.95,
    early=True,
    next_check="python -c 'import torch; print(torch.cuda.get_arch_list(), torch.cuda.get_device_capability())'",
    fixes=(
        fix(
            "wheels built for this card",
            "pip install -U torch --index-url <index of the CUDA version that knows the card>",
            proof="the card's sm_XX is in torch.cuda.get_arch_list()",
        ),
        fix(
            "for a self-built extension",
            "pip install --no-build-isolation --force-reinstall <extension>",
            env={"TORCH_CUDA_ARCH_LIST": "<compute capability>"},
        ),
    ),
    fires="RuntimeError: CUDA error: no kernel image is available for execution on the device",
    quiet="sm_90 in arch list",
)
