"""The installed torch is the CPU build."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR660",
    "torch-without-cuda",
    "environment",
    title="torch sees no card here: a CPU build, or no driver",
    why="pip resolved a wheel without CUDA, or no card is visible to this process (driver, container, CUDA_VISIBLE_DEVICES).",
    sig=(
        "Torch not compiled with CUDA enabled",
        "Attempting to deserialize object on a CUDA device",
        "Attempting to deserialize object on CUDA device",
    ),
    confidence=0.96,
    next_check="python -c 'import torch; print(torch.__version__, torch.version.cuda)'   # +cpu, None",
    fixes=(
        fix(
            "the CUDA build of the same version",
            "pip install --force-reinstall torch==<version> --index-url <index of the driver's CUDA version>",
            proof="torch.cuda.is_available() is True",
        ),
        fix(
            "read a checkpoint of a card on the CPU",
            "torch.load(path, map_location='cpu')",
            proof="the checkpoint loads",
        ),
        fix("or train on the CPU on purpose", sets={"use_cpu": True}),
    ),
    fires="AssertionError: Torch not compiled with CUDA enabled",
    quiet="torch 2.13.0, CUDA 12.8",
)
