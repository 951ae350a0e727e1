"""rows → examples → tokens → trainable tokens, counted once. (signature; filled in next)"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from papertrain.core.models import DatasetProfile, ModelSpec


def profile(
    path: Path | str,
    *,
    model: ModelSpec | None,
    cutoff: int,
    template: str | None = None,
    task: str | None = None,
    limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> DatasetProfile:
    raise NotImplementedError
