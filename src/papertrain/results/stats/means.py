"""Means: of one sample, of paired differences, of two independent samples, of folds, of clusters."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from papertrain.core.results import Interval
from papertrain.results.stats.outcome import TINY, TOLERANCE, Floats, Outcome, signature


def t_quantile(df: float, level: float) -> float:
    return float(stdtrit(df, 0.5 + level / 2))


def t_p(t: float, df: float) -> float:
    """Two-sided; the smallest positive number instead of an underflow to 0."""
    return max(2 * float(stdtr(df, -abs(t))), TINY)


def t_interval(x: ArrayLike, level: float = 0.95) -> Interval | None:
    """mean ± t se with n − 1 degrees of freedom; None for fewer than two values."""
    a = np.asarray(x, float)
    if a.size < 2:
        return None
    half = t_quantile(a.size - 1, level) * float(a.std(ddof=1)) / math.sqrt(a.size)
    m = float(a.mean())
    return Interval(low=m - half, high=m + half, level=level, method=f"t({a.size - 1})")


def _spread(d: Floats) -> tuple[float, float]:
    """Mean and standard deviation; a deviation that is only rounding noise counts as 0."""
    m, s = float(d.mean()), float(d.std(ddof=1)) if d.size > 1 else math.nan
    return m, 0.0 if s <= TOLERANCE * max(float(np.abs(d).max(initial=0.0)), 1e-300) else s


def paired_t(
    a: ArrayLike, b: ArrayLike, *, level: float = 0.95, unit: str = "example", ratio: float | None = None
) -> Outcome:
    """t-test of paired differences. ratio = n_test / n_train of cross-validation folds turns it into the corrected
    resampled t-test: folds share training data, so that their naive variance is too small (Nadeau & Bengio 2003)."""
    d = np.asarray(a, float) - np.asarray(b, float)
    n = d.size
    if n < 2:
        raise ValueError("a paired t-test needs at least two pairs")
    m, s = _spread(d)
    scale = 1 / n + (ratio or 0.0)
    se = s * math.sqrt(scale)
    name = "paired-t" if ratio is None else "corrected-resampled-t"
    z = d - m
    skew = float(np.mean(z**3) / np.mean(z**2) ** 1.5) if s > 0 else 0.0
    t = m / se if se > 0 else (0.0 if m == 0 else math.copysign(math.inf, m))
    half = t_quantile(n - 1, level) * se
    checks = [f"differences are roughly normal (skewness {skew:+.2f}, n {n})", f"{unit}s are independent of each other"]
    if abs(skew) / math.sqrt(n) > 0.2:
        checks.append("skewed for this n: prefer the permutation test and a BCa interval")
    if ratio is not None:
        checks.append(f"folds share training data: variance (1/{n} + {ratio:.3g}) s²")
    return Outcome(
        test=name,
        n=n,
        unit=unit,
        statistic=t,
        p=t_p(t, n - 1) if se > 0 else (1.0 if m == 0 else None),
        difference=m,
        ci=Interval(low=m - half, high=m + half, level=level, method=f"{name}({n - 1})"),
        effect_size=m / s if s > 0 else None,
        effect="dz",
        assumptions=tuple(checks),
        signature=signature(n=n, test=name, df=n - 1, ratio=ratio),
        details={"sd_difference": s, "skew": skew},
    )


def welch(a: ArrayLike, b: ArrayLike, *, level: float = 0.95, unit: str = "seed") -> Outcome:
    """Two independent samples with their own variances."""
    x, y = np.asarray(a, float), np.asarray(b, float)
    if min(x.size, y.size) < 2:
        raise ValueError("Welch's test needs at least two values on both sides")
    return welch_from_stats(
        float(x.mean()),
        float(x.std(ddof=1)),
        x.size,
        float(y.mean()),
        float(y.std(ddof=1)),
        y.size,
        level=level,
        unit=unit,
    )


def welch_from_stats(
    m1: float, s1: float, n1: int, m2: float, s2: float, n2: int, *, level: float = 0.95, unit: str = "seed"
) -> Outcome:
    v1, v2 = s1 * s1 / n1, s2 * s2 / n2
    se, d = math.sqrt(v1 + v2), m1 - m2
    noise = TOLERANCE * max(abs(m1), abs(m2), 1e-300)
    df = (v1 + v2) ** 2 / (v1 * v1 / (n1 - 1) + v2 * v2 / (n2 - 1)) if se > noise else float(n1 + n2 - 2)
    t = d / se if se > noise else (0.0 if abs(d) <= noise else math.copysign(math.inf, d))
    half = t_quantile(df, level) * se
    pooled = math.sqrt(((n1 - 1) * s1 * s1 + (n2 - 1) * s2 * s2) / (n1 + n2 - 2))
    g = d / pooled * (1 - 3 / (4 * (n1 + n2) - 9)) if pooled > noise else None
    return Outcome(
        test="welch-t",
        n=n1 + n2,
        unit=unit,
        statistic=t,
        p=t_p(t, df) if se > noise else (1.0 if abs(d) <= noise else None),
        difference=d,
        ci=Interval(low=d - half, high=d + half, level=level, method=f"welch({df:.1f})"),
        effect_size=g,
        effect="Hedges g",
        assumptions=(f"the {unit}s of both systems are independent", "values are roughly normal"),
        signature=signature(n=f"{n1}+{n2}", test="welch-t", df=f"{df:.3f}"),
        details={"df": df, "sd_a": s1, "sd_b": s2},
    )


def cohen_d(a: ArrayLike, b: ArrayLike) -> float:
    """Difference in pooled standard deviations, independent samples."""
    x, y = np.asarray(a, float), np.asarray(b, float)
    ss = x.var(ddof=1) * (x.size - 1) + y.var(ddof=1) * (y.size - 1)
    return float((x.mean() - y.mean()) / math.sqrt(ss / (x.size + y.size - 2)))


def cohen_dz(a: ArrayLike, b: ArrayLike) -> float:
    """Mean paired difference in standard deviations of the differences."""
    d = np.asarray(a, float) - np.asarray(b, float)
    return float(d.mean() / d.std(ddof=1))


def superiority(a: ArrayLike, b: ArrayLike, *, paired: bool = False) -> float:
    """P(A > B), ties count half."""
    x, y = np.asarray(a, float), np.asarray(b, float)
    d = x - y if paired else np.subtract.outer(x, y)
    return float(np.mean(d > 0) + np.mean(d == 0) / 2)


def cluster_mean(x: ArrayLike, cluster: ArrayLike, *, level: float = 0.95, small_sample: bool = True) -> Outcome:
    """Mean of items that come in groups (questions of one passage, turns of one dialogue), with a cluster-robust error.

    se = sqrt(sum over clusters of (sum of deviations)²) / n (Miller 2024), times sqrt(G / (G − 1)) for few clusters.
    """
    a = np.asarray(x, float)
    _, code = np.unique(np.asarray(cluster), return_inverse=True)
    groups = int(code.max()) + 1
    m = float(a.mean())
    sums = np.bincount(code, a - m, groups)
    se = math.sqrt(float(np.sum(sums**2)) * (groups / (groups - 1) if small_sample and groups > 1 else 1.0)) / a.size
    plain = float(a.std(ddof=1)) / math.sqrt(a.size) if a.size > 1 else math.nan
    half = t_quantile(max(groups - 1, 1), level) * se
    says = [f"{groups} clusters are independent of each other"]
    if groups < 40:
        says.append(
            f"{groups} clusters are few: the clustered error is itself uncertain"
            + (", too few for it" if groups < 10 else "")
        )
    return Outcome(
        test="cluster-t",
        n=a.size,
        unit="cluster",
        difference=m,
        statistic=m / se if se > 0 else None,
        p=t_p(m / se, groups - 1) if se > 0 and groups > 1 else (1.0 if m == 0 else None),
        ci=Interval(low=m - half, high=m + half, level=level, method=f"cluster t({groups - 1})"),
        assumptions=tuple(says),
        signature=signature(n=a.size, clusters=groups, test="cluster-t"),
        details={
            "stderr": se,
            "stderr_unclustered": plain,
            "clusters": groups,
            "design_effect": (se / plain) ** 2 if plain else None,
        },
    )
