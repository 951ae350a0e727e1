"""Two systems in one column: which test the data allow, its result, or why there is none."""

from __future__ import annotations

from typing import Any

import msgspec

from papertrain.core.results import Test
from papertrain.results.aligned import Comparison, align, as_test, item_test, power_of, refused
from papertrain.results.board import Board, Entry, Head
from papertrain.results.checks import comparable
from papertrain.results.names import key
from papertrain.results.seeds import several
from papertrain.results.stats import means, multiple
from papertrain.results.stats.outcome import UNTESTABLE, stream
from papertrain.results.stats.proportion import stderr, z_from_stderr


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
    return several(column, a, b, left, right, head, how)


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
    return as_test(o, column, a, b, extra=pair.notes, **power_of(o, how))


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
    return as_test(
        o,
        column,
        a,
        b,
        naive_p=naive.p,
        naive_says="a plain paired t-test on folds counts shared training data as new evidence",
    )


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
