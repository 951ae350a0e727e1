"""Bootstrap and randomisation on sums of per-item statistics.

A score of a whole test set (accuracy, F1, BLEU, WER) is a function of column sums over items. Resampling n items with
replacement is a multinomial draw over the *distinct* rows: exact, and thousands of times faster where rows repeat.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, ndtr, ndtri, stdtrit

from papertrain.core.results import Interval
from papertrain.results.stats.outcome import TINY, TOLERANCE, Floats, Outcome, entropy, monte_carlo_p, signature

Statistic = Callable[[Floats], Floats]
"""Column sums (resamples × columns) → one value per resample."""

BLOCK_BYTES = 24 * 2**20
"""Weights held at a time; memory does not grow with the number of resamples."""

EXACT_FLIPS = 20
"""Up to so many non-zero differences all sign patterns are enumerated."""


def matrix(rows: ArrayLike) -> Floats:
    x = np.asarray(rows, float)
    return x[:, None] if x.ndim == 1 else x


def collapse(rows: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Distinct rows and how often each occurs, in a fixed order."""
    if rows.shape[1] == 1:
        values, counts = np.unique(rows[:, 0], return_counts=True)
        return values[:, None], counts
    unique, counts = np.unique(rows, axis=0, return_counts=True)
    return unique, counts


def _blocks(total: int, row_bytes: int) -> Iterator[int]:
    size = int(max(1, min(512, BLOCK_BYTES // max(row_bytes, 1))))
    for start in range(0, total, size):
        yield min(size, total - start)


def _worth_collapsing(rows: Floats) -> bool:
    """A glance at a thousand rows, so that real-valued data do not pay for sorting."""
    head = rows[:1000]
    return bool(head.shape[0] < 100 or np.unique(head[:, 0]).size * 4 < head.shape[0] or rows.shape[0] <= 4096)


def resampled_sums(rows: ArrayLike, resamples: int, rng: np.random.Generator) -> Floats:
    """Column sums of `resamples` bootstrap samples of the rows."""
    x = matrix(rows)
    n, m = x.shape
    if _worth_collapsing(x):
        unique, counts = collapse(x)
        if unique.shape[0] * 20 <= n or unique.shape[0] <= 16:
            out = np.empty((resamples, m))
            done = 0
            for size in _blocks(resamples, unique.shape[0] * 8):
                out[done : done + size] = rng.multinomial(n, counts / n, size) @ unique
                done += size
            return out
    out = np.empty((resamples, m))
    done = 0
    if m == 1:
        flat = np.ascontiguousarray(x[:, 0])
        for size in _blocks(resamples, n * 8 * 4):
            out[done : done + size, 0] = flat[rng.integers(0, n, (size, n))].sum(1)
            done += size
        return out
    for size in _blocks(resamples, n * 24):
        offset = np.arange(size, dtype=np.int64)[:, None] * n
        drawn = (rng.integers(0, n, (size, n)) + offset).ravel()
        weights = np.bincount(drawn, minlength=size * n).reshape(size, n)
        out[done : done + size] = weights.astype(np.float64) @ x
        done += size
    return out


def jackknife_sums(rows: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Column sums without each distinct row, and how often that row occurs."""
    unique, counts = collapse(rows)
    return rows.sum(0) - unique, counts


def _acceleration(rows: Floats, statistic: Statistic) -> float:
    sums, counts = jackknife_sums(rows)
    values = statistic(sums)
    ok = np.isfinite(values)
    values, weight = values[ok], counts[ok]
    if not values.size:
        return 0.0
    d = np.average(values, weights=weight) - values
    below = float(np.sum(weight * d**2)) ** 1.5
    return float(np.sum(weight * d**3)) / (6 * below) if below > 0 else 0.0


def percentile(values: Floats, level: float, method: str = "percentile") -> Interval:
    a = (1 - level) / 2
    v = values[np.isfinite(values)]
    low, high = (float(q) for q in np.quantile(v, [a, 1 - a])) if v.size else (math.nan, math.nan)
    return Interval(low=low, high=high, level=level, method=method)


def bca(values: Floats, observed: float, acceleration: float, level: float) -> Interval:
    """Bias-corrected and accelerated (Efron 1987); the percentile interval where the correction is undefined."""
    v = values[np.isfinite(values)]
    share = (np.sum(v < observed) + np.sum(v == observed) / 2) / max(v.size, 1)
    if not 0 < share < 1:
        return percentile(values, level)
    z0, z = float(ndtri(share)), float(ndtri(0.5 + level / 2))

    def at(zq: float) -> float:
        below = 1 - acceleration * (z0 + zq)
        return float(ndtr(z0 + (z0 + zq) / below)) if below > 0 else (1.0 if zq > 0 else 0.0)

    low, high = (float(q) for q in np.quantile(v, [at(-z), at(z)]))
    return Interval(low=low, high=high, level=level, method="bca")


def bootstrap(
    rows: ArrayLike,
    statistic: Statistic,
    *,
    rng: np.random.Generator,
    resamples: int = 10_000,
    level: float = 0.95,
    method: str = "percentile",
) -> tuple[float, Interval, Floats]:
    """A statistic of column sums, its interval, and the resampled values."""
    x = matrix(rows)
    observed = float(statistic(x.sum(0)[None, :])[0])
    values = statistic(resampled_sums(x, resamples, rng))
    if method == "bca":
        return observed, bca(values, observed, _acceleration(x, statistic), level), values
    return observed, percentile(values, level, f"{method} bootstrap"), values


def mean_interval(
    x: ArrayLike, *, rng: np.random.Generator, resamples: int = 10_000, level: float = 0.95, method: str = "bca"
) -> Interval:
    """Bootstrap interval of a mean, or of a mean paired difference."""
    a = np.asarray(x, float)
    return bootstrap(a, lambda s: s[:, 0] / a.size, rng=rng, resamples=resamples, level=level, method=method)[1]


def _flip_sums(d: Floats, resamples: int, rng: np.random.Generator) -> Floats:
    """Sums of d under random signs: per eight items one look-up among 256 sums."""
    unique, counts = np.unique(np.abs(d), return_counts=True)
    if unique.size * 20 <= d.size:
        up = np.stack([rng.binomial(int(c), 0.5, resamples) for c in counts], 1)
        return np.asarray((2 * up - counts) @ unique, float)
    padded = np.zeros(-(-d.size // 8) * 8)
    padded[: d.size] = d
    signs = 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1) - 1
    table = np.ascontiguousarray(padded.reshape(-1, 8) @ signs.T)
    groups = table.shape[0]
    flat, base = table.ravel(), np.arange(groups, dtype=np.intp) * 256
    out = np.empty(resamples)
    done = 0
    for size in _blocks(resamples, groups * 24):
        draws = np.frombuffer(rng.bytes(size * groups), np.uint8).reshape(size, groups)
        out[done : done + size] = flat[draws + base].sum(1)
        done += size
    return out


def sign_flip(
    a: ArrayLike,
    b: ArrayLike | None = None,
    *,
    rng: np.random.Generator,
    resamples: int = 10_000,
    level: float = 0.95,
    cluster: ArrayLike | None = None,
    interval: str = "bca",
) -> Outcome:
    """Paired permutation test of a mean difference: under the null hypothesis each difference may have either sign.

    Exact up to 20 differences that are not 0, and for differences of one size (0/1 scores). With clusters, whole
    clusters are flipped and resampled.
    """
    d = np.asarray(a, float) - (0.0 if b is None else np.asarray(b, float))
    n, unit = d.size, "example"
    mean = float(d.mean())
    rows: Floats = d[:, None]
    statistic: Statistic = lambda s: s[:, 0] / n  # noqa: E731
    if cluster is not None:
        _, code = np.unique(np.asarray(cluster), return_inverse=True)
        d = np.bincount(code, d)
        rows, unit = np.stack([d, np.bincount(code).astype(float)], 1), "cluster"
        statistic = lambda s: s[:, 0] / s[:, 1]  # noqa: E731
    live = d[d != 0]
    total = float(d.sum())
    slack = TOLERANCE * float(np.abs(d).sum())
    exceeding: int | None = None
    if live.size == 0:
        p, how = 1.0, "exact"
    elif live.size <= EXACT_FLIPS:
        sums = np.zeros(1)
        for value in live:
            sums = np.concatenate([sums + value, sums - value])
        p, how = float(np.mean(np.abs(sums) >= abs(total) - slack)), "exact"
    elif np.ptp(np.abs(live)) <= slack / live.size:
        k = int(min(np.sum(live > 0), np.sum(live < 0)))
        p, how = min(1.0, 2 * float(bdtr(k, live.size, 0.5))), "exact"
    else:
        exceeding = int(np.sum(np.abs(_flip_sums(live, resamples, rng)) >= abs(total) - slack))
        p, how = monte_carlo_p(exceeding, resamples), f"resamples:{resamples}"
    _, ci, _ = bootstrap(rows, statistic, rng=rng, resamples=resamples, level=level, method=interval)
    sd = float(d.std(ddof=1)) if d.size > 1 else 0.0
    says = (
        f"{unit}s are independent of each other",
        "under the null hypothesis the systems are exchangeable on each item",
    )
    return Outcome(
        test="paired-permutation",
        n=n,
        unit=unit,
        p=max(p, TINY),
        statistic=mean,
        difference=mean,
        ci=ci,
        effect_size=mean / sd if sd > 0 and cluster is None else None,
        effect="dz",
        assumptions=says,
        signature=signature(n=n, test="paired-permutation", how=how, ci=f"{ci.method},{resamples}", rng=entropy(rng)),
        details={
            "sd_difference": sd,
            "identical": bool(live.size == 0),
            "monte_carlo_error": math.sqrt(p * (1 - p) / resamples) if exceeding is not None else 0.0,
        },
    )


def _swapped_sums(d: Floats, resamples: int, rng: np.random.Generator) -> Floats:
    """Column sums of d over a random half of the items, each item in or out with probability one half."""
    live = d[np.any(d != 0, axis=1)]
    out = np.zeros((resamples, d.shape[1]))
    if not live.size:
        return out
    if _worth_collapsing(live):
        unique, counts = collapse(live)
        if unique.shape[0] * 10 <= live.shape[0] or unique.shape[0] <= 32:
            chosen = np.stack([rng.binomial(int(c), 0.5, resamples) for c in counts], 1)
            return np.asarray(chosen @ unique, float)
    n = live.shape[0]
    whole = bool(np.all(live == np.rint(live))) and float(np.abs(live).sum(0).max()) < 2**24
    dtype = np.float32 if whole else np.float64
    x = np.ascontiguousarray(live, dtype)
    width = -(-n // 8)
    done = 0
    for size in _blocks(resamples, n * 8):
        bits = np.unpackbits(np.frombuffer(rng.bytes(size * width), np.uint8).reshape(size, width), axis=1, count=n)
        out[done : done + size] = np.matmul(bits.astype(dtype), x)
        done += size
    return out


def randomisation(
    rows_a: ArrayLike,
    rows_b: ArrayLike,
    statistic: Statistic,
    *,
    rng: np.random.Generator,
    resamples: int = 10_000,
    level: float = 0.95,
    interval: str = "percentile",
) -> Outcome:
    """Approximate randomisation of a corpus score (each item's outputs are swapped or not), with a paired bootstrap
    interval from the same sufficient statistics. Counts `>=` and adds one: sacrebleu's strict `>` is anti-conservative
    on 0/1 scores, its paired bootstrap p nearly one-sided."""
    x, y = matrix(rows_a), matrix(rows_b)
    if x.shape != y.shape:
        raise ValueError("both systems need the same items")
    n, m = x.shape
    total_a, total_b = x.sum(0), y.sum(0)
    observed = float(statistic(total_a[None, :])[0] - statistic(total_b[None, :])[0])
    moved = _swapped_sums(x - y, resamples, rng)
    null = statistic(total_a - moved) - statistic(total_b + moved)
    slack = TOLERANCE * max(abs(observed), float(np.nanmax(np.abs(null), initial=0.0)), 1e-300)
    p = monte_carlo_p(int(np.sum(np.abs(null) >= abs(observed) - slack)), resamples)
    identical = bool(np.array_equal(x, y))
    _, ci, values = bootstrap(
        np.concatenate([x, y], 1),
        lambda s: statistic(s[:, :m]) - statistic(s[:, m:]),
        rng=rng,
        resamples=resamples,
        level=level,
        method=interval,
    )
    return Outcome(
        test="approximate-randomisation",
        n=n,
        unit="example",
        p=1.0 if identical else p,
        statistic=observed,
        difference=observed,
        ci=ci,
        effect_size=float(np.nanmean(values > 0) + np.nanmean(values == 0) / 2),
        effect="share of bootstrap samples where A is higher",
        assumptions=("items are independent of each other", "under the null hypothesis outputs are exchangeable on each item"),
        signature=signature(n=n, test="approximate-randomisation", resamples=resamples, ci=f"paired {ci.method}", rng=entropy(rng)),
        details={"monte_carlo_error": math.sqrt(p * (1 - p) / resamples), "identical": identical,
                 "sd_difference": float(np.nanstd(values)) * math.sqrt(n)},
    )  # fmt: skip


def hierarchical_draws(
    runs_a: list[Floats],
    runs_b: list[Floats],
    statistic: Statistic,
    *,
    rng: np.random.Generator,
    resamples: int = 10_000,
    paired_seeds: bool = False,
    single_varies: bool = True,
) -> Floats:
    """Differences of seed means with both the items and the seeds drawn anew. Each run holds the rows of the same items.

    A bootstrap of k seeds sees only (k − 1)/k of their variance, and k = 2 to 5 are few for its tails: the part of the
    seeds is widened by sqrt(k / (k − 1)) and by what Student's t is wider than the normal law. Without it, 95 % intervals
    of five seeds held the truth in 86 of 100 data sets where seeds vary more than items, of two seeds in 70
    (`bench/stats.py simulate`).

    One run beside several has a variation between trainings too, which it cannot show: it is taken to vary as the other
    system does. Without that, leaving runs of a system out would make its difference look surer. single_varies=False: that
    one run is the only one there can be (a system without chance in its training).
    """
    blocks = [matrix(r) for r in (*runs_a, *runs_b)]
    m, ka, kb = blocks[0].shape[1], len(runs_a), len(runs_b)
    sums = resampled_sums(np.concatenate(blocks, 1), resamples, rng)
    scores = np.stack([statistic(sums[:, i * m : (i + 1) * m]) for i in range(ka + kb)], 1)
    pick_a = rng.integers(0, ka, (resamples, ka))
    pick_b = pick_a if paired_seeds and ka == kb else rng.integers(0, kb, (resamples, kb))
    df = max(ka - 1 if paired_seeds and ka == kb else ka + kb - 2, 2)
    left, right = (_drawn_seeds(part, pick, df) for part, pick in ((scores[:, :ka], pick_a), (scores[:, ka:], pick_b)))
    if single_varies and (ka == 1) != (kb == 1):
        many = scores[:, ka:] if ka == 1 else scores[:, :ka]
        pick = rng.integers(0, many.shape[1], (resamples, 1))
        return np.asarray(left - right + _drawn_seeds(many, pick, df) - many.mean(1))
    return np.asarray(left - right)


def _drawn_seeds(scores: Floats, pick: NDArray[np.int64], df: int, level: float = 0.95) -> Floats:
    """Means over drawn seeds, their distance from the mean of all seeds widened for few seeds."""
    k = scores.shape[1]
    mean = scores.mean(1)
    if k < 2:
        return np.asarray(mean)
    wider = math.sqrt(k / (k - 1)) * float(stdtrit(df, (1 + level) / 2) / ndtri((1 + level) / 2))
    return np.asarray(mean + wider * (np.take_along_axis(scores, pick, 1).mean(1) - mean))


def difference_of_means(runs_a: list[Floats], runs_b: list[Floats], statistic: Statistic) -> float:
    """Mean over the runs of A less mean over the runs of B, each scored on all its items."""
    a, b = ([float(statistic(matrix(r).sum(0)[None, :])[0]) for r in runs] for runs in (runs_a, runs_b))
    return float(np.mean(a) - np.mean(b))


def general_bootstrap(
    x: ArrayLike,
    statistic: Callable[[Floats], Floats],
    *,
    rng: np.random.Generator,
    resamples: int = 10_000,
    level: float = 0.95,
) -> tuple[float, Interval]:
    """BCa interval of any statistic of one sample (last axis); for what is no function of sums, such as a median."""
    a = np.asarray(x, float)
    n = a.size
    values = np.empty(resamples)
    done = 0
    for size in _blocks(resamples, n * 32):
        values[done : done + size] = statistic(a[rng.integers(0, n, (size, n))])
        done += size
    observed = float(statistic(a[None, :])[0])
    left = statistic(np.stack([np.delete(a, i) for i in range(n)])) if n <= 2000 else np.full(2, observed)
    d = left.mean() - left
    below = float(np.sum(d**2)) ** 1.5
    return observed, bca(values, observed, float(np.sum(d**3)) / (6 * below) if below > 0 else 0.0, level)
