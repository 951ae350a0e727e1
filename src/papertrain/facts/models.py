"""The shape of a model, found by its folder, its name or its size. (signature; filled in next)"""

from __future__ import annotations

from papertrain.core.errors import PapertrainError
from papertrain.core.models import ModelSpec


def find_model(name_or_path: str, *, online: bool = False) -> ModelSpec:
    """The model at a local folder or config.json, in the Hugging Face cache, or in the catalogue."""
    raise PapertrainError(f"no model {name_or_path!r} on record", code="unknown-model")


def with_classifier(spec: ModelSpec, labels: int) -> ModelSpec:
    """The model with a sequence (or image) classification head of that many labels."""
    return spec
