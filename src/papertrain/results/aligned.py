"""One run against one run on the same items: how they are laid side by side, and which test they allow."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from papertrain.core.results import Test
from papertrain.core.values import Value
from papertrain.results.board import Entry
from papertrain.results.metrics import classify
from papertrain.results.metrics.measured import Measured
from papertrain.results.stats import auc, binary, means, power, ranks, resample
from papertrain.results.stats.outcome import ALIKE, Floats, Outcome, entropy, pointlike, signature


class Aligned(Value, frozen=True, kw_only=True):
    """The same items of two runs, in the same order."""

    a: Measured
    b: Measured
    rows_a: Floats
    rows_b: Floats
    cluster: list[str] | None
    notes: tuple[str, ...]
    differing_ids: int = 0


def align(x: Entry, y: Entry) -> Aligned | str:
    """Rows of both runs by item id, or why they cannot be paired."""
    a, b, i, j = x.measured, y.measured, x.items, y.items
    if a is None or b is None or i is None or j is None:
        missing = [e.system for e in (x, y) if e.measured is None]
        return f"no per-example outputs of {' and '.join(dict.fromkeys(missing))}: accuracies and errors alone carry no paired test"
    if a.rows is None or b.rows is None or a.rows.ndim != b.rows.ndim:
        return a.reason or b.reason or f"{a.metric} has no per-example part that could be paired"
    notes = []
    if i.numbered != j.numbered:
        return "one file has item ids, the other has not: give both an id column"
    if i.numbered:
        if i.n != j.n:
            return f"different test items: {i.n} rows against {j.n}, and no ids"
        notes.append("no ids in the files: rows are paired by their order")
    at = {k: n for n, k in enumerate(j.ids)}
    if set(at) != set(i.ids):
        only_a, only_b = len(set(i.ids) - set(at)), len(set(at) - set(i.ids))
        return f"different test items: {only_a} only for {x.system}, {only_b} only for {y.system}, {len(set(i.ids) & set(at))} shared"
    order = np.array([at[k] for k in i.ids], int)
    wrong = _gold_differs(i.label, j.label, order) or _gold_differs(i.gold, j.gold, order)
    if wrong:
        return f"the gold labels of {wrong} of {i.n} shared items differ: these are not the same test sets"
    return Aligned(a=a, b=b, rows_a=a.rows, rows_b=b.rows[order], cluster=i.cluster, notes=tuple(notes))


def _gold_differs(a: list[object] | list[str] | None, b: list[object] | list[str] | None, order: object) -> int:
    if a is None or b is None:
        return 0
    other = [b[k] for k in np.asarray(order)]
    return sum(classify.text(p) != classify.text(q) for p, q in zip(a, other))


class Comparison(Value, frozen=True, kw_only=True):
    """What stays the same for all tests of one call. deterministic: systems of which one run stands for all."""

    seed: int = 7
    alpha: float = 0.05
    resamples: int = 10_000
    test: str = "auto"
    fold_ratio: float | None = None
    deterministic: frozenset[str] = frozenset()


def as_test(
    o: Outcome, column: int, a: str, b: str, *, role: str = "primary", extra: tuple[str, ...] = (), **details: Any
) -> Test:
    alike = pointlike(o.ci)
    extra = (*extra, ALIKE) if alike else extra
    return Test(column=column, a=a, b=b, test=o.test, unit=o.unit, n=o.n, difference=o.difference, ci=None if alike else o.ci, p=o.p, effect_size=o.effect_size,
                assumptions=(*o.assumptions, *extra), signature=o.signature, details={"role": role, "effect": o.effect, **o.details, **details})  # fmt: skip


def refused(column: int, a: str, b: str, why: str, **details: Any) -> Test:
    return Test(column=column, a=a, b=b, refused=why, details={"role": "primary", **details})


def item_test(pair: Aligned, how: Comparison, rng: np.random.Generator) -> Outcome:
    """The decision table for one run against one run on the same items."""
    a, n = pair.a, len(pair.rows_a)
    asked = how.test
    if a.kind == "auc" or asked == "delong":
        return auc.delong(pair.rows_a[:, 0], pair.rows_a[:, 1], pair.rows_b[:, 1])
    if a.kind == "mean":
        if pair.cluster is not None and len(set(pair.cluster)) < n and asked == "auto":
            return resample.sign_flip(pair.rows_a, pair.rows_b, rng=rng, resamples=how.resamples, cluster=pair.cluster)
        if a.binary and pair.b.binary and asked in ("auto", "mcnemar"):
            o = binary.mcnemar(pair.rows_a, pair.rows_b)
            boot = resample.mean_interval(
                pair.rows_a - pair.rows_b, rng=rng, resamples=how.resamples, method="percentile"
            )
            if pointlike(boot):
                return o
            return msgspec.structs.replace(o, details={**o.details, "bootstrap_ci": [boot.low, boot.high], "bootstrap_signature":
                                                       signature(n=n, ci="paired percentile bootstrap", resamples=how.resamples, rng=entropy(rng))})  # fmt: skip
        if asked == "paired-t":
            return means.paired_t(pair.rows_a, pair.rows_b)
        if asked == "wilcoxon":
            return wilcoxon(pair.rows_a, pair.rows_b)
        if asked == "randomisation":
            return resample.randomisation(
                pair.rows_a, pair.rows_b, lambda s: s[:, 0] / n, rng=rng, resamples=how.resamples
            )
        return resample.sign_flip(pair.rows_a, pair.rows_b, rng=rng, resamples=how.resamples)
    if a.statistic is None:
        raise ValueError(f"{a.metric} has no statistic of sums")
    return resample.randomisation(pair.rows_a, pair.rows_b, a.statistic, rng=rng, resamples=how.resamples)


def wilcoxon(a: ArrayLike, b: ArrayLike) -> Outcome:
    """The table shows means, so the difference beside them is theirs; the shift that belongs to the ranks is a detail."""
    o = ranks.wilcoxon(a, b)
    shift = {"hodges_lehmann": o.difference} if o.difference is not None else {}
    mean = float(np.mean(np.asarray(a, float) - np.asarray(b, float)))
    says = (*o.assumptions, "a test of ranks: the difference of means beside it is not what it tests")
    return msgspec.structs.replace(o, difference=mean, assumptions=says, details={**o.details, **shift})


def power_of(o: Outcome, how: Comparison) -> dict[str, Any]:
    sd = o.details.get("sd_difference")
    return (
        {"detectable": power.detectable(float(sd), o.n, alpha=how.alpha)}
        if isinstance(sd, float) and sd > 0 and o.n > 1
        else {}
    )
