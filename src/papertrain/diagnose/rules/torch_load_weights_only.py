"""torch.load refuses objects other than tensors (the default since 2.6)."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR561",
    "torch-load-weights-only",
    "checkpoint-disk",
    title="torch.load refuses objects other than tensors (the default since 2.6)",
    why="The file holds Python objects (random state, arguments), and newer torch only loads tensors unless told otherwise.",
    sig=(
        "Weights only load failed",
        "WeightsUnpickler error",
        "Unsupported global: GLOBAL",
        "require users to upgrade torch to at least v2.6",
    ),
    confidence=0.95,
    bound=("torch", ">=2.6"),
    next_check="python -c 'import torch; print(torch.__version__)'",
    fixes=(
        fix(
            "allow the class, for files you trust",
            "torch.serialization.add_safe_globals([…])   # or: torch.load(path, weights_only=False)",
            env={"TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"},
            proof="the state loads",
        ),
        fix("a transformers that knows torch 2.6", "pip install -U transformers accelerate"),
    ),
    kinds=(
        (
            "weights_only",
            "RuntimeError: pass weights_only=False to read this file",
        ),
    ),
    fires="_pickle.UnpicklingError: Weights only load failed. This file can still be loaded, to do so you have two options: (1) re-running `torch.load` with `weights_only` set to `False`",
    quiet="torch.load finished",
)
