"""Two systems in one column: which test the data allow, its result, or why there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from papertrain.core.results import Interval, Test
from papertrain.core.values import Value
from papertrain.results.board import Board, Entry, Head
from papertrain.results.checks import comparable
from papertrain.results.metrics import classify
from papertrain.results.metrics.measured import Measured
from papertrain.results.names import key
from papertrain.results.stats import auc, binary, means, multiple, power, ranks, resample
from papertrain.results.stats.outcome import ALIKE, UNTESTABLE, Floats, Outcome, entropy, pointlike, signature, stream
from papertrain.results.stats.proportion import stderr, z_from_stderr

CHOICES = ("auto", "mcnemar", "permutation", "randomisation", "paired-t", "welch", "wilcoxon", "delong")


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


def _as_test(
    o: Outcome, column: int, a: str, b: str, *, role: str = "primary", extra: tuple[str, ...] = (), **details: Any
) -> Test:
    alike = pointlike(o.ci)
    extra = (*extra, ALIKE) if alike else extra
    return Test(column=column, a=a, b=b, test=o.test, unit=o.unit, n=o.n, difference=o.difference, ci=None if alike else o.ci, p=o.p, effect_size=o.effect_size,
                assumptions=(*o.assumptions, *extra), signature=o.signature, details={"role": role, "effect": o.effect, **o.details, **details})  # fmt: skip


def refused(column: int, a: str, b: str, why: str, **details: Any) -> Test:
    return Test(column=column, a=a, b=b, refused=why, details={"role": "primary", **details})


def compare_pair(board: Board, column: int, a: str, b: str, how: Comparison) -> list[Test]:
    """The primary test of a pair in a column, and secondary ones (per seed)."""
    head = board.heads[column]
    left, right = board.runs(a, head), board.runs(b, head)
    if head.scale == "mixed":
        return [
            refused(
                column,
                a,
                b,
                "fractions and percentages are mixed in this column: say which with --columns unit=percent or unit=fraction",
            )
        ]
    if not left or not right:
        name = a if not left else b
        return [refused(column, a, b, f"{name} has no value here: {board.gaps.get((name, head), 'no file holds it')}")]
    for x in left.values():
        for y in right.values():
            why = comparable(x, y, head)
            if why:
                return [refused(column, a, b, why)]
    if why := unfit(how.test, [*left.values(), *right.values()], head.metric):
        return [refused(column, a, b, why)]
    if all(e.fold for e in (*left.values(), *right.values())):
        return [_folds(column, a, b, left, right, how)]
    if len(left) == 1 and len(right) == 1:
        return [_one_run(column, a, b, next(iter(left.values())), next(iter(right.values())), head, how)]
    return _several(column, a, b, left, right, head, how)


def unfit(asked: str, entries: list[Entry], metric: str) -> str:
    """Why the test that was asked for says nothing about this metric; '' where it does."""
    measured = [e.measured for e in entries if e.measured is not None]
    if asked == "delong" and any(m.kind != "auc" for m in measured):
        return f"DeLong compares areas under curves, and {metric} is none: leave --test out"
    if asked == "mcnemar" and any(m.kind == "auc" or (m.kind == "mean" and not m.binary) for m in measured):
        return f"McNemar counts right and wrong answers, and {metric} is not right or wrong per item: leave --test out"
    return ""


def _one_run(column: int, a: str, b: str, x: Entry, y: Entry, head: Head, how: Comparison) -> Test:
    pair = align(x, y)
    if isinstance(pair, str):
        return refused(column, a, b, pair, **(_summary_only(x, y) if x.measured is None or y.measured is None else {}))
    o = item_test(pair, how, stream(how.seed, "test", head.metric))
    if o.p is None:
        return refused(column, a, b, UNTESTABLE, difference=o.difference)
    return _as_test(o, column, a, b, extra=pair.notes, **_power(o, how))


def _wilcoxon(a: ArrayLike, b: ArrayLike) -> Outcome:
    """The table shows means, so the difference beside them is theirs; the shift that belongs to the ranks is a detail."""
    o = ranks.wilcoxon(a, b)
    shift = {"hodges_lehmann": o.difference} if o.difference is not None else {}
    mean = float(np.mean(np.asarray(a, float) - np.asarray(b, float)))
    says = (*o.assumptions, "a test of ranks: the difference of means beside it is not what it tests")
    return msgspec.structs.replace(o, difference=mean, assumptions=says, details={**o.details, **shift})


def _power(o: Outcome, how: Comparison) -> dict[str, Any]:
    sd = o.details.get("sd_difference")
    return (
        {"detectable": power.detectable(float(sd), o.n, alpha=how.alpha)}
        if isinstance(sd, float) and sd > 0 and o.n > 1
        else {}
    )


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
            return _wilcoxon(pair.rows_a, pair.rows_b)
        if asked == "randomisation":
            return resample.randomisation(
                pair.rows_a, pair.rows_b, lambda s: s[:, 0] / n, rng=rng, resamples=how.resamples
            )
        return resample.sign_flip(pair.rows_a, pair.rows_b, rng=rng, resamples=how.resamples)
    if a.statistic is None:
        raise ValueError(f"{a.metric} has no statistic of sums")
    return resample.randomisation(pair.rows_a, pair.rows_b, a.statistic, rng=rng, resamples=how.resamples)


def _summary_only(x: Entry, y: Entry) -> dict[str, Any]:
    """What published numbers allow: an unpaired z, conservative on the same items, and bounds of the paired error."""

    def se(e: Entry) -> tuple[float | None, int]:
        if e.measured is not None and e.measured.binary and e.value is not None:
            return stderr(e.value, e.measured.n), e.measured.n
        s = e.score
        if s is None or s.value is None:
            return None, 0
        if s.stderr:
            return s.stderr, s.n or 0
        ok = (
            s.n
            and s.n > 1
            and s.scale == "fraction"
            and 0 < s.value < 1
            and key(s.metric) in ("acc", "accuracy", "exact_match", "em")
        )
        return (stderr(s.value, s.n or 0), s.n or 0) if ok else (None, 0)

    (sx, nx), (sy, ny) = se(x), se(y)
    repair = "keep per-example outputs (lm_eval --log_samples, predictions.csv, generated_predictions.jsonl) and compare those"
    if not sx or not sy or x.value is None or y.value is None:
        return {
            "repair": repair,
            "difference": x.value - y.value if x.value is not None and y.value is not None else None,
        }
    z = z_from_stderr(x.value, sx, y.value, sy, n=min(nx, ny))
    return {
        "repair": repair,
        "difference": z.difference,
        "unpaired_z_p": z.p,
        "unpaired_says": "conservative where both saw the same items; not a claim",
        **z.details,
    }


def _folds(column: int, a: str, b: str, left: dict[str, Entry], right: dict[str, Entry], how: Comparison) -> Test:
    shared = [s for s in left if s in right]
    if len(shared) < 3 or len(shared) != len(left) or len(shared) != len(right):
        return refused(column, a, b, f"cross-validation folds differ or are fewer than 3 ({len(shared)} shared)")
    ratio = how.fold_ratio or 1 / (len(shared) - 1)
    o = means.paired_t(
        [left[s].value or 0.0 for s in shared], [right[s].value or 0.0 for s in shared], unit="fold", ratio=ratio
    )
    naive = means.paired_t([left[s].value or 0.0 for s in shared], [right[s].value or 0.0 for s in shared], unit="fold")
    return _as_test(
        o,
        column,
        a,
        b,
        naive_p=naive.p,
        naive_says="a plain paired t-test on folds counts shared training data as new evidence",
    )


def _several(
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
                             repair=f"run {3 - k} more seed{'s' if 3 - k > 1 else ''} (5 are better)", difference=_mean(left) - _mean(right)))  # fmt: skip
    return tests + _per_seed(column, a, b, items, head, how)


def _mean(runs: dict[str, Entry]) -> float:
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
            o = _wilcoxon(x, y)
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
    return _as_test(o, column, a, b, extra=tuple(extra), **more)


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
        out.append(_as_test(o, column, a, b, role="per-seed", extra=(note,), seed_a=s, seed_b=t, **_power(o, how)))
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


def adjust(tests: list[Test], alpha: float, method: str = "holm") -> list[Test]:
    """Adjusted p-values over the primary tests of the whole table, which make one family of claims."""
    family = [i for i, t in enumerate(tests) if t.p is not None and t.details.get("role") == "primary"]
    adjusted = multiple.ADJUSTMENTS[method]([tests[i].p or 0.0 for i in family])
    out = list(tests)
    for i, p in zip(family, adjusted):
        out[i] = msgspec.structs.replace(
            tests[i],
            p_adjusted=p,
            adjustment=method,
            significant=p < alpha,
            details={**tests[i].details, "family": len(family), "alpha": alpha},
        )
    return out
