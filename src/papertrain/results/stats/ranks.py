"""Ranks: Wilcoxon, Mann-Whitney, Friedman, and critical differences over data sets."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, fdtrc, ndtr, ndtri

from papertrain.results.stats.outcome import TINY, TOLERANCE, Floats, Outcome, signature


def average_ranks(x: ArrayLike) -> Floats:
    """1 = smallest; ties share the mean rank."""
    _, inverse, counts = np.unique(np.asarray(x, float), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return ((last - counts + 1 + last) / 2)[inverse]


def _cleaned(d: Floats) -> Floats:
    """Differences rounded where they differ by representation only: 0.05 and 0.05000000000000004 are a tie."""
    scale = float(np.abs(d).max(initial=0.0))
    if scale == 0:
        return d
    digits = int(-math.floor(math.log10(scale * TOLERANCE)))
    return np.round(d, max(min(digits, 300), -300))


def _signed_rank_law(doubled: list[int]) -> Floats:
    """Counts of each value of 2 W+ over all sign patterns of the given (doubled) ranks."""
    law = np.ones(1)
    for r in doubled:
        longer = np.zeros(law.size + r)
        longer[: law.size] += law
        longer[r:] += law
        law = longer / 2
    return law


def wilcoxon(a: ArrayLike, b: ArrayLike | None = None, *, zeros: str = "drop", exact_up_to: int = 200) -> Outcome:
    """Signed rank test on unrounded paired differences: is their distribution symmetric around 0?

    zeros: `drop` (Wilcoxon) or `split` (ranked, half to each side, as Demsar 2006). Exact also with ties.
    """
    d = np.asarray(a, float) - (0.0 if b is None else np.asarray(b, float))
    d = _cleaned(d)
    total = d.size
    if zeros == "drop":
        d = d[d != 0]
    r = average_ranks(np.abs(d)) if d.size else d
    plus = float(r[d > 0].sum() + r[d == 0].sum() / 2)
    minus = float(r[d < 0].sum() + r[d == 0].sum() / 2)
    n = d.size
    if n == 0:
        return Outcome(
            test="wilcoxon", n=total, unit="pair", p=1.0, statistic=0.0, signature=signature(n=total, test="wilcoxon")
        )
    mean, var = n * (n + 1) / 4, float(np.sum(r**2)) / 4
    asymptotic = float(2 * ndtr(-abs(plus - mean) / math.sqrt(var)))
    if n <= exact_up_to:
        law = _signed_rank_law([round(2 * v) for v in r[d != 0]])
        at = round(2 * (plus - float(r[d == 0].sum()) / 2))
        greater, less = float(law[at:].sum()), float(law[: at + 1].sum())
        p, how = min(1.0, 2 * min(greater, less)), "exact"
    else:
        greater, less = float(ndtr((mean - plus) / math.sqrt(var))), float(ndtr((plus - mean) / math.sqrt(var)))
        p, how = asymptotic, "normal"
    return Outcome(
        test="wilcoxon",
        n=total,
        unit="pair",
        statistic=min(plus, minus),
        p=max(p, TINY),
        difference=hodges_lehmann(d),
        effect_size=(plus - minus) / (n * (n + 1) / 2),
        effect="matched rank-biserial",
        assumptions=("pairs are independent", "differences are symmetric around their median"),
        signature=signature(n=total, test=f"wilcoxon-{how}", zeros=zeros),
        details={"plus": plus, "minus": minus, "p_greater": greater, "p_less": less, "p_asymptotic": asymptotic,
                 "wins": int(np.sum(d > 0)), "losses": int(np.sum(d < 0)), "ties": int(total - np.sum(d != 0))},
    )  # fmt: skip


def hodges_lehmann(d: ArrayLike) -> float | None:
    """Median of the pairwise means: the location that belongs to Wilcoxon's test."""
    x = np.asarray(d, float)
    if not x.size:
        return None
    if x.size > 2000:
        return float(np.median(x))
    i, j = np.triu_indices(x.size)
    return float(np.median((x[i] + x[j]) / 2))


def mann_whitney(a: ArrayLike, b: ArrayLike) -> Outcome:
    """Is a value of A larger than one of B more often than not? Exact without ties up to 400 pairs of values."""
    x, y = np.asarray(a, float), np.asarray(b, float)
    m, n = x.size, y.size
    pooled = np.concatenate([x, y])
    r = average_ranks(pooled)
    u = float(r[:m].sum()) - m * (m + 1) / 2
    _, ties = np.unique(pooled, return_counts=True)
    if ties.max() == 1 and m * n <= 400:
        law = np.zeros((m + 1, m * n + 1))
        law[0, 0] = 1
        for value in range(1, m + n + 1):
            for k in range(min(m, value), 0, -1):
                shift = value - k
                if shift <= n:
                    law[k, shift:] += law[k - 1, : m * n + 1 - shift]
        row = law[m] / law[m].sum()
        k = round(max(u, m * n - u))
        p, how = min(1.0, 2 * float(row[k:].sum())), "exact"
    else:
        size = m + n
        var = m * n / 12 * (size + 1 - float(np.sum(ties**3 - ties)) / (size * (size - 1)))
        z = (abs(u - m * n / 2) - 0.5) / math.sqrt(var) if var > 0 else 0.0
        p, how = min(1.0, float(2 * ndtr(-max(z, 0.0)))), "normal"
    return Outcome(test="mann-whitney", n=m + n, unit="value", statistic=u, p=p, effect_size=u / (m * n), effect="P(A > B)",
                   assumptions=("values are independent",), signature=signature(n=f"{m}+{n}", test=f"mann-whitney-{how}"))  # fmt: skip


def friedman(scores: ArrayLike, *, higher_is_better: bool = True) -> Outcome:
    """k methods on N data sets (rows are data sets), ranked unrounded; tie-corrected chi-square and Iman-Davenport F."""
    x = np.asarray(scores, float)
    n, k = x.shape
    r = np.vstack([average_ranks(-row if higher_is_better else row) for row in x])
    mean = r.mean(0)
    raw = 12 * n / (k * (k + 1)) * (float(np.sum(mean**2)) - k * (k + 1) ** 2 / 4)
    spread = float(np.sum((r - (k + 1) / 2) ** 2))
    corrected = (k - 1) * float(np.sum((r.sum(0) - n * (k + 1) / 2) ** 2)) / spread if spread else 0.0
    f = (n - 1) * raw / (n * (k - 1) - raw) if n * (k - 1) - raw > 1e-12 else math.inf
    return Outcome(
        test="friedman",
        n=n,
        unit="data set",
        statistic=corrected,
        p=max(float(chdtrc(k - 1, corrected)), TINY),
        effect_size=corrected / (n * (k - 1)),
        effect="Kendall W",
        assumptions=("data sets are independent of each other",)
        + (() if n > 10 and k > 5 else (f"{n} data sets and {k} methods are few for chi-square: read the F",)),
        signature=signature(n=n, k=k, test="friedman", ties="corrected"),
        details={"mean_ranks": mean.tolist(), "chi2_uncorrected": raw, "F": f,
                 "p_F": float(fdtrc(k - 1, (k - 1) * (n - 1), f)) if math.isfinite(f) and f > 0 else None},
    )  # fmt: skip


def studentized_range(k: int, level: float = 0.95) -> float:
    """Quantile of the range of k independent standard normal values (infinite degrees of freedom)."""
    z = np.linspace(-8.5, 8.5, 4001)
    density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    below = ndtr(z)
    low, high = 0.0, 20.0
    for _ in range(60):
        q = (low + high) / 2
        inside = k * float(np.trapezoid(density * (below - ndtr(z - q)) ** (k - 1), z))
        low, high = (q, high) if inside < level else (low, q)
    return (low + high) / 2


def nemenyi_q(k: int, alpha: float = 0.05) -> float:
    """Critical value of Nemenyi's test: the studentized range divided by sqrt 2 (leaving that out is a known bug)."""
    return studentized_range(k, 1 - alpha) / math.sqrt(2)


def critical_difference(k: int, n: int, alpha: float = 0.05, *, control: bool = False) -> float:
    """Mean ranks that differ by less are not told apart. control: Bonferroni-Dunn, all against one."""
    q = float(ndtri(1 - alpha / (2 * (k - 1)))) if control else nemenyi_q(k, alpha)
    return q * math.sqrt(k * (k + 1) / (6 * n))


def cliques(mean_ranks: ArrayLike, cd: float) -> list[tuple[int, ...]]:
    """Largest groups of methods whose mean ranks lie within the critical difference (indices, best first)."""
    r = np.asarray(mean_ranks, float)
    order = np.argsort(r, kind="stable")
    found: list[tuple[int, ...]] = []
    for i, first in enumerate(order):
        group = tuple(int(j) for j in order[i:] if r[j] - r[first] <= cd)
        if len(group) > 1 and not any(set(group) <= set(g) for g in found):
            found.append(group)
    return found
