"""The installed torch is the CPU build."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR660",
    "torch-without-cuda",
    "environment",
    title="The installed torch is the CPU build",
    why="pip resolved a wheel without CUDA: the driver and the card are not even asked.",
    sig=("Torch not compiled with CUDA enabled",),
    confidence=0.96,
    next_check="python -c 'import torch; print(torch.__version__, torch.version.cuda)'   # +cpu, None",
    fixes=(
        fix(
            "the CUDA build of the same version",
            "pip install --force-reinstall torch==<version> --index-url <index of the driver's CUDA version>",
            proof="torch.cuda.is_available() is True",
        ),
        fix("or train on the CPU on purpose", sets={"use_cpu": True}),
    ),
    fires="AssertionError: Torch not compiled with CUDA enabled",
    quiet="torch 2.13.0, CUDA 12.8",
)
