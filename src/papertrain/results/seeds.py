"""Several runs of a system: the unit is the seed, or items and seeds are drawn anew; examples are never pooled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from papertrain.core.results import Interval, Test
from papertrain.core.values import Value
from papertrain.results.aligned import Aligned, Comparison, align, as_test, item_test, power_of, refused, wilcoxon
from papertrain.results.board import Entry, Head
from papertrain.results.stats import means, multiple, power, resample
from papertrain.results.stats.outcome import ALIKE, Floats, entropy, pointlike, signature, stream


def several(
    column: int, a: str, b: str, left: dict[str, Entry], right: dict[str, Entry], head: Head, how: Comparison
) -> list[Test]:
    """Several seeds on at least one side."""
    pairs = {(s, t): align(x, y) for s, x in left.items() for t, y in right.items()}
    items = {k: v for k, v in pairs.items() if isinstance(v, Aligned)}
    complete = len(items) == len(pairs)
    tests = []
    enough = min(len(left), len(right)) >= 3
    if enough:
        tests.append(_seeds(column, a, b, left, right, head, how, items if complete else {}))
    elif complete:
        tests.append(_items_over_seeds(column, a, b, left, right, head, how, items))
    else:
        k = min(len(left), len(right))
        why = next((v for v in pairs.values() if isinstance(v, str)), "")
        one = "one run" if k == 1 else f"{k} seeds"
        tests.append(refused(column, a, b, f"{one} on one side: no test over seeds below 3 per system, and no shared items ({why})",
                             repair=f"run {3 - k} more seed{'s' if 3 - k > 1 else ''} (5 are better)", difference=mean_of(left) - mean_of(right)))  # fmt: skip
    return tests + _per_seed(column, a, b, items, head, how)


def mean_of(runs: dict[str, Entry]) -> float:
    return float(np.mean([e.value for e in runs.values() if e.value is not None]))


def _seeds(
    column: int,
    a: str,
    b: str,
    left: dict[str, Entry],
    right: dict[str, Entry],
    head: Head,
    how: Comparison,
    items: dict[tuple[str, str], Aligned],
) -> Test:
    """The unit is the seed: paired where the seeds are shared, Welch otherwise; examples are never pooled."""
    x, y = [e.value or 0.0 for e in left.values()], [e.value or 0.0 for e in right.values()]
    shared = list(left) == list(right) and not next(iter(left)).startswith("#")
    k = min(len(x), len(y))
    extra: list[str] = []
    if shared and how.test in ("auto", "paired-t", "wilcoxon", "permutation"):
        if how.test == "wilcoxon":
            o = wilcoxon(x, y)
        elif how.test == "permutation":
            o = resample.sign_flip(x, y, rng=stream(how.seed, "seeds", head.metric), resamples=how.resamples)
        else:
            o = means.paired_t(x, y, unit="seed")
        r = float(np.corrcoef(x, y)[0, 1]) if np.ptp(x) and np.ptp(y) else 0.0
        extra.append(f"seed s means the same data order and split for both systems (correlation over seeds {r:+.2f})")
        if r <= 0:
            extra.append("the seeds do not go together: pairing does not help")
    else:
        o = means.welch(x, y, unit="seed")
    if o.p is None:
        if items:
            return _items_over_seeds(column, a, b, left, right, head, how, items)
        why = f"the difference is the same in all {k} seeds, so there is no spread to test against: did the seed reach the training?"
        return refused(column, a, b, why, difference=o.difference, seeds_a=len(x), seeds_b=len(y))
    if k < 5:
        d = power.detectable_seeds(k, paired=shared)
        extra.append(
            f"indicative only: {k} seeds per system see effects of {d:.1f} standard deviations with 80 % power"
        )
    more: dict[str, Any] = {
        "seeds_a": len(x),
        "seeds_b": len(y),
        "smallest_p": power.smallest_p_of_seeds(k, paired=shared),
        "unit_says": "the seed, never the example",
        "probability_of_improvement": means.superiority(x, y),
    }
    if items:
        found = _hierarchical(left, right, items, how, head.metric)
        if found and pointlike(found.ci):
            more["hierarchical_says"] = ALIKE
        elif found:
            more |= {
                "hierarchical_ci": [found.ci.low, found.ci.high],
                "hierarchical_says": "items and seeds drawn anew",
            }
    return as_test(o, column, a, b, extra=tuple(extra), **more)


class Hierarchy(Value, frozen=True, kw_only=True):
    """Difference of seed means with items and seeds drawn anew: value, interval, two-sided p."""

    difference: float
    ci: Interval
    p: float


def _hierarchical(
    left: dict[str, Entry],
    right: dict[str, Entry],
    items: dict[tuple[str, str], Aligned],
    how: Comparison,
    metric: str,
    varies: bool = True,
) -> Hierarchy | None:
    first, other = next(iter(left)), next(iter(right))
    m = items[first, other].a
    if m.kind == "auc":
        return None
    rows_a = [items[s, other].rows_a[o] for s, o in zip(left, _orders(left))]
    rows_b = [items[first, t].rows_b for t in right]
    n = len(rows_a[0])
    statistic: Callable[[Floats], Floats] = m.statistic if m.statistic is not None else (lambda s: s[:, 0] / n)
    draws = resample.hierarchical_draws(
        rows_a, rows_b, statistic, rng=stream(how.seed, "hierarchical", metric), resamples=how.resamples, single_varies=varies
    )  # fmt: skip
    tail = min(float(np.sum(draws <= 0)), float(np.sum(draws >= 0)))
    return Hierarchy(
        difference=resample.difference_of_means(rows_a, rows_b, statistic),
        ci=resample.percentile(draws, 0.95, "hierarchical bootstrap over seeds and items"),
        p=min(1.0, 2 * (tail + 1) / (how.resamples + 1)),
    )


def _orders(runs: dict[str, Entry]) -> list[NDArray[np.int64]]:
    """For each run the positions of its items in the order of the first run."""
    items = [e.items for e in runs.values() if e.items is not None]
    first = items[0].ids
    out = []
    for i in items:
        at = {k: n for n, k in enumerate(i.ids)}
        out.append(np.array([at[k] for k in first], int))
    return out


def _items_over_seeds(
    column: int,
    a: str,
    b: str,
    left: dict[str, Entry],
    right: dict[str, Entry],
    head: Head,
    how: Comparison,
    items: dict[tuple[str, str], Aligned],
) -> Test:
    """Fewer than three seeds on a side: scores of an item are averaged over seeds, then paired over items; the interval
    draws items and seeds."""
    first, other = next(iter(left)), next(iter(right))
    m = items[first, other].a
    rng = stream(how.seed, "items over seeds", head.metric)
    single = a if len(left) == 1 else b
    varies = single not in how.deterministic
    found = _hierarchical(left, right, items, how, head.metric, varies)
    if found is None:
        return refused(column, a, b, f"{m.metric} over several seeds has no paired test here; compare single seeds")
    draws = f"{len(left)} against {len(right)} seeds: p and interval of the difference of seed means"
    n, p, name, unit = len(items[first, other].rows_a), found.p, "hierarchical-bootstrap", "example and seed"
    effect: float | None = None
    sd = None
    if m.kind == "mean":
        x = np.mean([items[s, other].rows_a[o] for s, o in zip(left, _orders(left))], axis=0)
        y = np.mean([items[first, t].rows_b for t in right], axis=0)
        flipped = resample.sign_flip(x, y, rng=rng, resamples=how.resamples, cluster=items[first, other].cluster)
        if (flipped.p or 0.0) >= found.p:
            p, name = flipped.p or 0.0, flipped.test
        unit = flipped.unit
        effect, sd = flipped.effect_size, flipped.details.get("sd_difference")
    says = (
        draws,
        "p is the larger of the permutation over items and of the bootstrap over items and seeds"
        if m.kind == "mean"
        else "p from the bootstrap over items and seeds",
        *(
            [
                f"{single} has one run: it is taken to vary between trainings as the other does"
                if varies
                else f"{single} is said to be deterministic: its one run stands for all"
            ]
            if len(left) != len(right) and min(len(left), len(right)) == 1
            else []
        ),
        "holds for new items; below 3 seeds the variation between trainings is hardly known",
        *([ALIKE] if pointlike(found.ci) else []),
    )
    ci = None if pointlike(found.ci) else found.ci
    return Test(column=column, a=a, b=b, test=name, unit=unit, n=n, difference=found.difference, ci=ci, p=p, effect_size=effect, assumptions=says,
                signature=signature(n=n, seeds=f"{len(left)}+{len(right)}", test=name, resamples=how.resamples, ci=found.ci.method, rng=entropy(rng)),
                details={"role": "primary", "seeds_a": len(left), "seeds_b": len(right), "sd_difference": sd, **({} if varies else {"deterministic": single})})  # fmt: skip


def _per_seed(
    column: int, a: str, b: str, items: dict[tuple[str, str], Aligned], head: Head, how: Comparison
) -> list[Test]:
    """Exact tests of single runs on the same items: each stands for that run only."""
    shared = [(s, t) for s, t in items if s == t]
    one_sided = len({s for s, _ in items}) == 1 or len({t for _, t in items}) == 1
    chosen = (
        shared if shared and not (one_sided and len(shared) < len(items)) else [(s, t) for s, t in items if one_sided]
    )
    out = []
    for s, t in chosen[:20]:
        o = item_test(items[s, t], how, stream(how.seed, "seed", head.metric))
        note = f"one run of each: {a} seed {s}, {b} seed {t}; says nothing about other trainings"
        out.append(as_test(o, column, a, b, role="per-seed", extra=(note,), seed_a=s, seed_b=t, **power_of(o, how)))
    adjusted = multiple.holm([t.p for t in out if t.p is not None])
    done = []
    for test in out:
        p = adjusted.pop(0) if test.p is not None else None
        done.append(
            msgspec.structs.replace(
                test,
                p_adjusted=p,
                adjustment="holm over the seeds of this pair",
                significant=None if p is None else p < how.alpha,
            )
        )
    return done
