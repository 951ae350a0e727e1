"""Several comparisons at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def holm(p: Sequence[float]) -> list[float]:
    """Adjusted p-values that keep the chance of any false claim in the family at alpha."""
    x = np.asarray(p, float)
    order = np.argsort(x, kind="stable")
    stepped = np.maximum.accumulate(x[order] * np.arange(x.size, 0, -1))
    out = np.empty_like(x)
    out[order] = np.minimum(stepped, 1.0)
    return [float(v) for v in out]


def benjamini_hochberg(p: Sequence[float]) -> list[float]:
    """Adjusted p-values that keep the expected share of false claims at alpha: for screening."""
    x = np.asarray(p, float)
    order = np.argsort(x, kind="stable")
    scaled = x[order] * x.size / np.arange(1, x.size + 1)
    out = np.empty_like(x)
    out[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return [float(v) for v in out]


def bonferroni(p: Sequence[float]) -> list[float]:
    return [min(1.0, v * len(p)) for v in p]


def unadjusted(p: Sequence[float]) -> list[float]:
    return [float(v) for v in p]


ADJUSTMENTS = {"holm": holm, "bh": benjamini_hochberg, "bonferroni": bonferroni, "none": unadjusted}
