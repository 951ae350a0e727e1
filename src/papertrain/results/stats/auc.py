"""Areas under ROC curves of the same items (DeLong 1988 in the O(n log n) form of Sun & Xu 2014)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from papertrain.core.results import Interval
from papertrain.results.stats.outcome import ROUNDING, TINY, Floats, Outcome, signature
from papertrain.results.stats.proportion import z_of
from papertrain.results.stats.ranks import average_ranks


def _placements(positive: Floats, negative: Floats) -> tuple[float, Floats, Floats]:
    m, n = positive.size, negative.size
    both = average_ranks(np.concatenate([positive, negative]))
    v10 = (both[:m] - average_ranks(positive)) / n
    v01 = 1 - (both[m:] - average_ranks(negative)) / m
    return float(v10.mean()), v10, v01


def delong_interval(y: ArrayLike, score: ArrayLike, level: float = 0.95) -> tuple[float, Interval | None]:
    """AUC and its interval; on the logit scale above 0.95, where the plain one would leave [0, 1]. None where every pair is
    ranked alike: the method then sees no variance at all."""
    t, s = np.asarray(y, bool), np.asarray(score, float)
    if t.all() or not t.any():
        raise ValueError("an AUC needs items of both classes")
    a, v10, v01 = _placements(s[t], s[~t])
    if min(v10.size, v01.size) < 2:
        return a, None
    se = math.sqrt(float(v10.var(ddof=1)) / v10.size + float(v01.var(ddof=1)) / v01.size)
    if se <= ROUNDING:
        return a, None
    z = z_of(level)
    if a > 0.95 and 0 < a < 1:
        x, h = math.log(a / (1 - a)), z * se / (a * (1 - a))
        low, high = 1 / (1 + math.exp(-(x - h))), 1 / (1 + math.exp(-(x + h)))
        return a, Interval(low=low, high=high, level=level, method="delong, logit")
    return a, Interval(low=max(0.0, a - z * se), high=min(1.0, a + z * se), level=level, method="delong")


def delong(y: ArrayLike, a: ArrayLike, b: ArrayLike, level: float = 0.95) -> Outcome:
    """Paired difference of two AUCs."""
    t = np.asarray(y, bool)
    if t.all() or not t.any():
        raise ValueError("an AUC needs items of both classes")
    x, z = np.asarray(a, float), np.asarray(b, float)
    auc_a, a10, a01 = _placements(x[t], x[~t])
    auc_b, b10, b01 = _placements(z[t], z[~t])
    d = auc_a - auc_b
    var = float((a10 - b10).var(ddof=1)) / a10.size + float((a01 - b01).var(ddof=1)) / a01.size
    se = math.sqrt(var)
    alike = se <= ROUNDING
    stat = 0.0 if alike else d / se
    half = z_of(level) * se
    few = min(a10.size, a01.size)
    return Outcome(
        test="delong",
        n=t.size,
        unit="example",
        statistic=stat,
        p=None if alike and abs(d) > ROUNDING else max(float(2 * ndtr(-abs(stat))), TINY),
        difference=d,
        ci=Interval(low=d - half, high=d + half, level=level, method="delong"),
        effect_size=d,
        effect="difference of areas",
        assumptions=("the same items",) + ((f"only {few} items in the rarer class",) if few < 10 else ()),
        signature=signature(n=t.size, test="delong", positives=a10.size),
        details={"auc_a": auc_a, "auc_b": auc_b, "stderr": se},
    )
