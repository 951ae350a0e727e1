"""Which extra of the package brings a library that is missing."""

from __future__ import annotations

from papertrain.core.errors import PapertrainError

EXTRAS = {
    **dict.fromkeys(("numpy", "scipy", "matplotlib", "sklearn", "sacrebleu", "rouge_score"), "results"),
    **dict.fromkeys(("pyarrow", "zstandard"), "data"),
    **dict.fromkeys(("starlette", "uvicorn", "multipart"), "serve"),
    **dict.fromkeys(("mcp", "anyio"), "mcp"),
    **dict.fromkeys(("torch", "transformers", "accelerate", "peft", "datasets"), "train"),
}


def missing(error: ModuleNotFoundError) -> PapertrainError | None:
    """What to install, where the missing module is one of an extra; None where it is a fault of ours."""
    name = (error.name or "").split(".")[0]
    if name not in EXTRAS:
        return None
    return PapertrainError(
        f"this needs {name}, which the base install does not have",
        code="not-installed",
        command=f"pip install 'papertrain[{EXTRAS[name]}]'",
    )
