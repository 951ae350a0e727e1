"""Right or wrong on the same items: McNemar and Cochran."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, bdtrc, chdtrc

from papertrain.core.results import Interval
from papertrain.results.stats.outcome import TINY, Outcome, signature
from papertrain.results.stats.proportion import two_proportions, z_of


def exact_p(b: int, c: int) -> float:
    """Two-sided binomial p of b against c discordant pairs; 1 where there is none."""
    n, k = b + c, min(b, c)
    return max(min(1.0, 2 * float(bdtr(k, n, 0.5))), TINY) if n else 1.0


def mid_p(b: int, c: int) -> float:
    """Exact p less half the probability of what was seen: nearer to its level, not guaranteed below it."""
    n, k = b + c, min(b, c)
    if not n:
        return 1.0
    point = math.exp(math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) - n * math.log(2))
    return max(min(1.0, 2 * float(bdtr(k, n, 0.5)) - point), TINY)


def chi2(b: int, c: int, *, correct: bool = False) -> tuple[float, float]:
    """Asymptotic McNemar, only to reproduce published numbers."""
    if b + c == 0:
        return 0.0, 1.0
    x = max(abs(b - c) - (1 if correct else 0), 0) ** 2 / (b + c)
    return x, float(chdtrc(1, x))


def tango(b: int, c: int, n: int, level: float = 0.95) -> Interval:
    """Score interval of the difference of paired proportions (Tango 1998), by bisection of its score function."""
    z = z_of(level)

    def score(delta: float) -> float:
        # q: the constrained estimate of the probability of the c cell, given b/n - c/n = delta
        s = -b - c + (2 * n - b + c) * delta
        q = (math.sqrt(max(s * s - 8 * n * (-c * delta * (1 - delta)), 0.0)) - s) / (4 * n)
        var = n * (2 * q + delta * (1 - delta))
        return (b - c - n * delta) / math.sqrt(var) if var > 1e-300 else math.copysign(math.inf, b - c - n * delta)

    d = (b - c) / n

    def root(goal: float, low: float, high: float) -> float:
        for _ in range(80):
            mid = (low + high) / 2
            low, high = (mid, high) if score(mid) > goal else (low, mid)
        return (low + high) / 2

    return Interval(low=root(z, -1.0, d), high=root(-z, d, 1.0), level=level, method="tango score")


def mcnemar(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> Outcome:
    """Exact McNemar on 0/1 scores of the same items, at any size; the difference is a − b with a score interval."""
    x, y = np.asarray(a, float), np.asarray(b, float)
    if x.shape != y.shape or x.ndim != 1 or not x.size:
        raise ValueError("two equally long rows of 0/1 scores are needed")
    only_a, only_b = int(np.sum((x == 1) & (y == 0))), int(np.sum((x == 0) & (y == 1)))
    both, neither = int(np.sum((x == 1) & (y == 1))), int(np.sum((x == 0) & (y == 0)))
    return mcnemar_counts(both, only_a, only_b, neither, level)


def mcnemar_counts(both: int, only_a: int, only_b: int, neither: int, level: float = 0.95) -> Outcome:
    """The same from the four counts."""
    n = both + only_a + only_b + neither
    b, c = only_a, only_b
    wrong_tool = two_proportions((both + b) / n, n, (both + c) / n, n)
    return Outcome(
        test="mcnemar-exact",
        n=n,
        unit="example",
        statistic=float(min(b, c)),
        p=exact_p(b, c),
        difference=(b - c) / n,
        ci=tango(b, c, n, level),
        effect_size=b / c if c else None,
        effect="odds of discordant pairs",
        assumptions=("the same items, scored 0 or 1", "items are independent of each other"),
        signature=signature(n=n, test="mcnemar-exact", discordant=f"{b}/{c}", ci="tango"),
        details={
            "both": both,
            "only_a": b,
            "only_b": c,
            "neither": neither,
            "mid_p": mid_p(b, c),
            "unpaired_z_p": wrong_tool.p,
            "sd_difference": math.sqrt(max((b + c) / n - ((b - c) / n) ** 2, 0.0)),
            "testable": b + c >= 6,
        },
    )


def mcnemar_matrix(scores: NDArray[np.generic]) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """All pairs of systems at once from 0/1 scores (items × systems): only-row, only-column counts and exact p."""
    x = np.asarray(scores, np.float32)
    b = np.rint(x.T @ (1 - x)).astype(np.float64)
    c = b.T
    n, k = b + c, np.minimum(b, c)
    p = np.where(n > 0, np.clip(2 * bdtr(k, np.maximum(n, 1).astype(int), 0.5), TINY, 1.0), 1.0)
    return b, c, p


def cochran_q(scores: ArrayLike) -> Outcome:
    """Do k systems differ at all? 0/1 scores, systems × items."""
    x = np.asarray(scores, float)
    k, n = x.shape
    g, row = x.sum(1), x.sum(0)
    under = float(np.sum(k * row - row**2))
    q = (k - 1) * (k * float(np.sum(g**2)) - float(np.sum(g)) ** 2) / under if under else 0.0
    return Outcome(
        test="cochran-q",
        n=n,
        unit="example",
        statistic=q,
        p=max(float(chdtrc(k - 1, q)), TINY),
        assumptions=("the same items for every system", "large n"),
        signature=signature(n=n, k=k, test="cochran-q"),
    )


def sign_test(wins: int, losses: int, ties: int = 0) -> Outcome:
    """Wins against losses of a judge; ties are left out of the test and reported."""
    n = wins + losses
    p = exact_p(wins, losses)
    return Outcome(
        test="sign-exact",
        n=n + ties,
        unit="comparison",
        p=p,
        statistic=float(wins),
        effect_size=(wins + ties / 2) / (n + ties) if n + ties else None,
        effect="win rate, ties half",
        signature=signature(n=n + ties, test="sign-exact"),
        details={"wins": wins, "losses": losses, "ties": ties},
    )


def minimum_discordant(alpha: float = 0.05) -> int:
    """The fewest discordant pairs with which p can fall below alpha at all (6 at 0.05)."""
    n = 1
    while 2 * 0.5**n >= alpha:
        n += 1
    return n


def upper_binomial(k: int, n: int, p: float) -> float:
    """P(X >= k)."""
    return float(bdtrc(k - 1, n, p)) if k > 0 else 1.0


def discordant(tables: Sequence[Sequence[int]]) -> tuple[int, int]:
    """b and c of a 2 × 2 table [[both, b], [c, neither]]."""
    return int(tables[0][1]), int(tables[1][0])
