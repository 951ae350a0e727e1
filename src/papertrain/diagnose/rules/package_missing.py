"""A package is not installed."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR589",
    "package-missing",
    "environment",
    title="A package is not installed",
    why="An import fails before anything is trained.",
    sig=(
        "No module named ~ (ModuleNotFoundError|ImportError|PackageNotFoundError).*No module named",
        "PackageNotFoundError ~ No package metadata was found for|PackageNotFoundError",
        "is not installed ~ (?i)package.{0,40}is not installed",
        "Please install ~ ImportError.*[Pp]lease install",
    ),
    confidence=0.88,
    yields=(
        "deepspeed-single-gpu-launch",
        "megatron-apex-missing-fused-kernel",
        "flash-attn-abi-mismatch",
        "accelerate-version-mismatch",
    ),
    next_check="pip list | grep -i <package>",
    fixes=(
        fix(
            "install it in the training environment",
            "pip install <package that the message names>",
            proof="the import passes",
        ),
    ),
    fires="ModuleNotFoundError: No module named 'jieba'",
    quiet="imported jieba 0.42",
)
