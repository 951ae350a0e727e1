"""One score of one system, together with the per-item statistics that carry its interval and its tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from papertrain.core.results import Interval
from papertrain.core.values import Value
from papertrain.results.stats import resample
from papertrain.results.stats.auc import delong_interval
from papertrain.results.stats.means import cluster_mean, t_interval
from papertrain.results.stats.outcome import Floats, pointlike, signature
from papertrain.results.stats.proportion import is_binary, wilson

Kind = Literal["mean", "corpus", "auc", "ranks"]


class Measured(Value, frozen=True, kw_only=True):
    """kind `mean`: rows is one score per item; `corpus`: rows are sufficient statistics and `statistic` makes the score of
    their sums; `auc`: rows are (is positive, score); `ranks`: only an interval from theory."""

    metric: str
    value: float | None
    n: int
    kind: Kind
    definition: str
    library: str
    higher_is_better: bool = True
    rows: Floats | None = None
    statistic: Callable[[Floats], Floats] | None = None
    ci: Interval | None = None
    reason: str = ""
    details: dict[str, Any] = {}

    @property
    def binary(self) -> bool:
        """One right-or-wrong score per item."""
        return self.kind == "mean" and self.rows is not None and is_binary(self.rows)


def mean_of(scores: Any, *, metric: str, definition: str, library: str, higher_is_better: bool = True) -> Measured:
    rows = np.asarray(scores, float)
    return Measured(metric=metric, value=float(rows.mean()), n=rows.size, kind="mean", definition=definition, library=library,
                    higher_is_better=higher_is_better, rows=rows)  # fmt: skip


ONE_ITEM = "no interval: one item carries none"
NO_SPREAD = "no interval: every resample gives the same value; other items need not"
RANKS = "no interval: the ranks agree in full, or the items are fewer than five"


def estimate(
    m: Measured,
    *,
    rng: np.random.Generator,
    resamples: int = 10_000,
    level: float = 0.95,
    cluster: list[str] | None = None,
) -> tuple[Interval | None, str]:
    """The interval of a score, or the reason why a score with a value has none."""
    ci = interval(m, rng=rng, resamples=resamples, level=level, cluster=cluster)
    if ci is not None or m.value is None:
        return ci, ""
    if m.kind == "ranks":
        return None, RANKS
    if m.rows is None:
        return None, ""
    return None, ONE_ITEM if m.n < 2 else NO_SPREAD


def interval(
    m: Measured,
    *,
    rng: np.random.Generator,
    resamples: int = 10_000,
    level: float = 0.95,
    cluster: list[str] | None = None,
) -> Interval | None:
    """The interval that suits the score: Wilson for right-or-wrong, clustered where items come in groups, BCa for real
    means, bootstrap for corpus scores, DeLong for areas. None where one item cannot carry one, and where the items show no
    spread: a perfect score on a few items is no certain one."""
    if m.ci is not None or m.rows is None or m.value is None:
        return m.ci
    ci = _drawn(m, rng, resamples, level, cluster) if m.n > 1 else None
    return None if pointlike(ci) else ci


def _drawn(
    m: Measured, rng: np.random.Generator, resamples: int, level: float, cluster: list[str] | None
) -> Interval | None:
    assert m.rows is not None
    if m.kind == "auc":
        return delong_interval(m.rows[:, 0], m.rows[:, 1], level)[1]
    if m.kind == "mean":
        if cluster is not None and len(set(cluster)) > 1:
            return cluster_mean(m.rows, cluster, level=level).ci
        if m.binary:
            return wilson(float(m.rows.sum()), m.n, level)
        if np.ptp(m.rows) == 0:
            return None
        if m.n >= 10_000:
            return t_interval(m.rows, level)
        return resample.mean_interval(m.rows, rng=rng, resamples=resamples, level=level)
    if m.statistic is None:
        return None
    return resample.bootstrap(m.rows, m.statistic, rng=rng, resamples=resamples, level=level)[1]


def signed(m: Measured, ci: Interval | None, rng: np.random.Generator | None, resamples: int) -> str:
    """How the number was made, printed with it."""
    from papertrain.results.stats.outcome import entropy

    drawn = ci is not None and ("bootstrap" in ci.method or ci.method == "bca")
    return signature(
        metric=m.metric,
        n=m.n,
        library=m.library,
        ci=ci.method if ci else None,
        resamples=resamples if drawn else None,
        rng=entropy(rng) if drawn and rng is not None else None,
    )


def version(package: str) -> str:
    """`scikit-learn 1.9.1`, from the metadata of what is installed."""
    from importlib import metadata

    try:
        return f"{package} {metadata.version(package)}"
    except metadata.PackageNotFoundError:
        return f"{package} not installed"
