"""One accuracy, or two that share no items."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betaincinv, ndtr, ndtri

from papertrain.core.results import Interval
from papertrain.results.stats.outcome import TINY, Outcome, signature


def z_of(level: float) -> float:
    return float(ndtri(0.5 + level / 2))


def wilson(successes: float, n: int, level: float = 0.95) -> Interval:
    """Score interval: covers at small n and near 0 and 1, where p ± 1.96 se does not (81 % at n = 30, p = 0.9)."""
    if n < 1:
        raise ValueError("no items")
    z = z_of(level)
    p = successes / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return Interval(low=max(0.0, centre - half), high=min(1.0, centre + half), level=level, method="wilson")


def clopper_pearson(successes: int, n: int, level: float = 0.95) -> Interval:
    """Exact and conservative."""
    a = (1 - level) / 2
    low = 0.0 if successes == 0 else float(betaincinv(successes, n - successes + 1, a))
    high = 1.0 if successes == n else float(betaincinv(successes + 1, n - successes, 1 - a))
    return Interval(low=low, high=high, level=level, method="clopper-pearson")


def stderr(p: float, n: int) -> float:
    """Sample standard error of a 0/1 mean, with n - 1 as lm-evaluation-harness has it."""
    return math.sqrt(max(p * (1 - p), 0.0) / (n - 1)) if n > 1 else math.nan


def n_from_stderr(p: float, se: float) -> float | None:
    """The number of items behind a published (accuracy, stderr); None where se is 0."""
    return p * (1 - p) / (se * se) + 1 if se > 0 else None


def two_proportions(p1: float, n1: int, p2: float, n2: int, level: float = 0.95) -> Outcome:
    """z-test of two independent accuracies (unpooled). On the same items it is the wrong tool: it ignores the pairing."""
    return z_from_stderr(p1, stderr(p1, n1), p2, stderr(p2, n2), n=min(n1, n2), level=level, name="two-proportions-z")


def z_from_stderr(
    a: float, se_a: float, b: float, se_b: float, *, n: int, level: float = 0.95, name: str = "z"
) -> Outcome:
    """Difference of two published scores, treated as independent. Conservative where they share items."""
    se = math.hypot(se_a, se_b)
    d = a - b
    z = d / se if se > 0 else math.nan
    half = z_of(level) * se
    return Outcome(
        test=name,
        n=n,
        unit="example",
        statistic=z,
        p=max(float(2 * ndtr(-abs(z))), TINY) if se > 0 else None,
        difference=d,
        ci=Interval(low=d - half, high=d + half, level=level, method="normal, unpaired"),
        assumptions=("the two samples are independent; wrong, and usually conservative, on the same items",),
        signature=signature(n=n, test=name),
        details={"paired_stderr_between": [abs(se_a - se_b), se_a + se_b], "stderr": se},
    )


def group_score(scores: list[tuple[float, int]]) -> tuple[float, float]:
    """Micro average over sub-tasks of (accuracy, n) and its stratified standard error sqrt(sum w² se²)."""
    total = sum(n for _, n in scores)
    mean = sum(p * n for p, n in scores) / total
    se = math.sqrt(sum((n / total) ** 2 * stderr(p, n) ** 2 for p, n in scores if n > 1))
    return mean, se


def rule_of_three(n: int) -> float:
    """Upper 95 % bound on an error rate after n items without an error."""
    return 1 - 0.05 ** (1 / n) if n else math.nan


def integer_count(p: float, n: int) -> int | None:
    """The number of right answers, where p × n is one."""
    k = round(p * n)
    return k if abs(p * n - k) < 1e-6 * max(n, 1) else None


def is_binary(x: object) -> bool:
    """Only 0 and 1 in the array."""
    a = np.asarray(x)
    return a.size > 0 and bool(np.all((a == 0) | (a == 1)))
