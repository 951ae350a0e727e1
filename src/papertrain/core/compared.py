"""Whether two documents say the same, but for one place."""

from __future__ import annotations

import math
from typing import Any


def without(value: Any, path: tuple[Any, ...]) -> Any:
    """The document without that place, and without what is empty once it is gone."""
    if not path:
        return None
    if isinstance(value, dict):
        kept = {k: without(v, path[1:]) if k == path[0] else v for k, v in value.items()}
        return {k: v for k, v in kept.items() if k != path[0] or v is not None} or None
    if isinstance(value, list):
        items = [without(v, path[1:]) if i == path[0] else v for i, v in enumerate(value)]
        return [v for i, v in enumerate(items) if i != path[0] or v is not None] or None
    return None


def alike(a: Any, b: Any) -> bool:
    """Equal, as far as a text can say it: floats are written with seven digits at least, and not-a-number is like itself."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(alike(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, float) or isinstance(b, float):
        try:
            return math.isclose(float(a), float(b), rel_tol=1e-6) or (math.isnan(float(a)) and math.isnan(float(b)))
        except (TypeError, ValueError, OverflowError):
            return False
    return bool(a == b)
