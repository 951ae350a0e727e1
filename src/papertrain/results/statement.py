"""Sentences that a reviewer can check: every number with its n, interval, test and unit; nothing that was not measured."""

from __future__ import annotations

from collections.abc import Sequence

from papertrain.core.results import Column, ResultTable, Test
from papertrain.core.sentences import translated
from papertrain.core.texts import say
from papertrain.results import names
from papertrain.results.stats.outcome import ALIKE, show_p

TESTS = {
    "mcnemar-exact": "exact McNemar", "paired-permutation": "paired permutation", "approximate-randomisation": "approximate randomisation", "paired-t": "paired t",
    "welch-t": "Welch", "delong": "DeLong", "wilcoxon": "Wilcoxon", "corrected-resampled-t": "corrected resampled t", "hierarchical-bootstrap": "bootstrap over seeds and items",
}  # fmt: skip


def value(x: float, c: Column, *, sign: bool = False) -> str:
    v = x * c.factor
    return f"{v:+.{c.decimals}f}" if sign else f"{v:.{c.decimals}f}"


def unit(c: Column) -> str:
    return say(" points") if c.points else ""


def where(c: Column) -> str:
    return (
        say("{metric} on {data}", metric=names.pretty(c.metric), data=c.dataset)
        if c.dataset
        else names.pretty(c.metric)
    )


def difference(t: Test, c: Column) -> str:
    """`+11.7 points [8.7, 14.7], exact McNemar p < 0.001 (183 to 66)`."""
    if t.difference is None:
        return ""
    text = f"{value(t.difference, c, sign=True)}{unit(c)}"
    if t.ci is not None:
        text += f" [{value(t.ci.low, c)}, {value(t.ci.high, c)}]"
    elif ALIKE in t.assumptions:
        text += say(" (no interval: every difference is the same)")
    name = translated(TESTS.get(t.test, t.test))
    text += f", {name} {show_p(t.p)}"
    if "only_a" in t.details:
        text += say(" ({a} to {b})", a=t.details["only_a"], b=t.details["only_b"])
    if corrected(t):
        text += say(", {p} after {correction}", p=show_p(t.p_adjusted), correction=CORRECTIONS[t.adjustment])
    return text


def improvement(t: Test, higher: bool | None) -> tuple[float, str] | None:
    """How probable it is that A is better, ties half, and what is drawn: a run of each, one item, or a test set of this size."""
    d = t.details
    if isinstance(d.get("probability_of_improvement"), float):
        p, of = d["probability_of_improvement"], say("a run of each")
    elif "only_a" in d and t.n:
        p, of = (d["only_a"] + (t.n - d["only_a"] - d["only_b"]) / 2) / t.n, say("one item")
    elif str(d.get("effect", "")).startswith("share of bootstrap") and t.effect_size is not None:
        p, of = t.effect_size, say("a test set of this size")
    else:
        return None
    return (1 - p if higher is False else p), of


def as_interval(t: Test, c: Column, higher: bool | None) -> str:
    """`+4.1 points [1.3, 6.9], probability of improvement 0.93 (one item)`: no verdict, no p."""
    text = f"{value(t.difference, c, sign=True)}{unit(c)}" if t.difference is not None else ""
    if t.ci is not None:
        text += f" [{value(t.ci.low, c)}, {value(t.ci.high, c)}]"
    elif ALIKE in t.assumptions:
        text += say(" (no interval: every difference is the same)")
    found = improvement(t, higher)
    return text + (say(", probability of improvement {p} ({of})", p=f"{found[0]:.2f}", of=found[1]) if found else "")


CORRECTIONS = {"holm": "Holm", "bh": "Benjamini-Hochberg", "bonferroni": "Bonferroni"}


def corrected(t: Test) -> bool:
    """Whether the test is one of several of a table, so that its p was raised for them."""
    return t.p_adjusted is not None and t.adjustment in CORRECTIONS and t.details.get("family", 1) > 1


def pair(t: Test, table: ResultTable, *, with_metric: bool = True) -> str:
    """The result of one comparison as a sentence without its full stop."""
    c = table.columns[t.column]
    a, b = (table.cells[table.rows.index(x)][t.column] for x in (t.a, t.b))
    left = value(a.value, c) if a.value is not None else "–"
    right = value(b.value, c) if b.value is not None else "–"
    head = say("{a} {left} against {b} {right}", a=t.a, left=left, b=t.b, right=right)
    metric = f" ({where(c)})" if with_metric else ""
    if t.refused:
        return say("{head}{metric}: no test", head=head, metric=metric)
    units = {"example": say("on the same {n:,} items", n=t.n), "cluster": say("on the same {n:,} items in clusters", n=t.n), "seed": say("over {n} seeds", n=_seeds(t)),
             "fold": say("over {n} folds", n=t.n), "pair": say("over {n} pairs", n=t.n)}  # fmt: skip
    return f"{head}{metric} {units.get(t.unit, say('on the same {n:,} items', n=t.n))}: {difference(t, c)}"


def _seeds(t: Test) -> str:
    a, b = t.details.get("seeds_a"), t.details.get("seeds_b")
    return f"{a}" if a == b else f"{a} and {b}"


def doubt(t: Test, table: ResultTable, beside: Sequence[Test] = ()) -> str:
    """What the numbers do not carry: n too small, one seed, the wrong tool named. beside: tests of the same pair in other
    columns, which may come out otherwise."""
    c = table.columns[t.column]
    if t.refused:
        return translated(t.refused)
    parts = []
    if t.test == "mcnemar-exact":
        parts.append(say("same items, so the test is paired"))
        z = t.details.get("unpaired_z_p")
        if isinstance(z, float):
            parts.append(say("an unpaired z-test ({p}) is the wrong tool here: it ignores the pairing", p=show_p(z)))
        if t.details.get("testable") is False:
            parts.append(
                say("fewer than 6 discordant items: no p below 0.05 is possible, so this is untestable and not a tie")
            )
    if any("paired by their order" in a for a in t.assumptions):
        parts.append(say("the files have no ids, so rows are paired by their order"))
    others = [o for o in beside if o is not t and not o.refused and o.significant is not None]
    named = f"{where(c)}: " if others else ""
    if t.significant is False and isinstance(t.details.get("detectable"), float):
        d = value(t.details["detectable"], c)
        text = say(
            "no significant difference; below {d}{unit} this design sees with less than 80 % power", d=d, unit=unit(c)
        )
        parts.append(named + text)
    elif t.significant is False and others:
        parts.append(named + say("no significant difference"))
    elif t.significant and any(o.significant is False for o in others):
        parts.append(named + say("a significant difference"))
    for o in [o for o in others if o.significant is not t.significant][:3]:
        says = say("a significant difference") if o.significant else say("no significant difference")
        parts.append(f"{where(table.columns[o.column])}: {says}")
    if t.ci is not None and corrected(t):
        n = t.details["family"]
        parts.append(say("the interval is of this comparison alone, the p after correction is for all {n} tests", n=n))
    if t.unit in ("example", "cluster") and not t.details.get("seeds_a"):
        parts.append(say("one run of each, so the variation between trainings is not in this interval"))
    elif t.unit == "seed":
        parts.append(say("the unit is the seed, never the pooled examples"))
        k = min(t.details.get("seeds_a", 9), t.details.get("seeds_b", 9))
        if k < 5:
            parts.append(say("{k} seeds make it indicative only", k=k))
    elif t.details.get("seeds_a"):
        a, b = t.details["seeds_a"], t.details["seeds_b"]
        parts.append(
            say(
                "same items, so the test is paired; {x} has {a} runs and {y} {b}: items and seeds are drawn anew for the interval",
                x=t.a,
                a=a,
                y=t.b,
                b=b,
            )
        )
        if min(a, b) == 1:
            one, other = (t.a, t.b) if a == 1 else (t.b, t.a)
            if t.details.get("deterministic") == one:
                parts.append(say("{name} is said to be deterministic, so its one run stands for all", name=one))
            else:
                parts.append(say("{name} has one run and is taken to vary between trainings as {other} does", name=one, other=other))  # fmt: skip
    return "; ".join(parts)
