"""Many runs: robust aggregates over seeds and tasks, and what a search budget buys."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike


def iqm(x: ArrayLike) -> float:
    """Mean of the middle half of all runs × tasks (Agarwal et al. 2021), as scipy's trim_mean(0.25)."""
    a = np.sort(np.asarray(x, float).ravel())
    cut = int(0.25 * a.size)
    return float(a[cut : a.size - cut].mean())


def improvement(x: ArrayLike, y: ArrayLike) -> float:
    """P(a run of x beats a run of y), averaged over tasks (columns); ties half."""
    a, b = np.asarray(x, float), np.asarray(y, float)
    d = a[:, None, :] - b[None, :, :]
    return float(np.mean((d > 0) + (d == 0) / 2))


def expected_maximum(scores: Sequence[float], budget: int, *, replacement: bool = False) -> float:
    """Expected best of `budget` trials. With replacement (Dodge et al. 2019) it is biased; order statistics are not."""
    v = np.sort(np.asarray(scores, float))
    n = v.size
    if not 1 <= budget <= n:
        raise ValueError(f"a budget of {budget} from {n} trials")
    if replacement:
        cdf = (np.arange(1, n + 1) / n) ** budget
        weights = np.diff(np.concatenate([[0.0], cdf]))
    else:
        below = np.array([math.comb(i, budget) for i in range(n + 1)], dtype=object)
        weights = np.array([float(below[i + 1] - below[i]) for i in range(n)]) / math.comb(n, budget)
    return float(np.sum(weights * v))


def pass_at_k(n: int, correct: int, k: int) -> float:
    """Unbiased pass@k of one problem with n samples of which some are correct (Chen et al. 2021)."""
    if k > n:
        raise ValueError(f"pass@{k} needs at least {k} samples, {n} given")
    return 1.0 if n - correct < k else 1.0 - math.comb(n - correct, k) / math.comb(n, k)
