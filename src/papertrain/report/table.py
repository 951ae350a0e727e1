"""What stands in each cell of a paper table, the same for LaTeX, Markdown and the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from papertrain.core.results import Cell, Column, ResultTable, Test
from papertrain.core.values import Record

ARROW = {True: "↑", False: "↓"}


class Shown(Record, frozen=True, kw_only=True):
    """One cell as printed. mark: `best`, `second` or empty. sign: `dagger`, `circle` or empty. note: index, or None."""

    text: str
    plus_minus: str = ""
    interval: str = ""
    mark: str = ""
    sign: str = ""
    note: int | None = None
    evidence: str = ""
    comment: str = ""


class Sheet(Record, frozen=True, kw_only=True):
    """A table ready to be written in any markup."""

    rows: tuple[str, ...]
    datasets: tuple[str, ...]
    metrics: tuple[str, ...]
    directions: tuple[bool | None, ...]
    cells: tuple[tuple[Shown, ...], ...]
    notes: tuple[str, ...]
    legend: tuple[str, ...]
    """Sentences of the caption: what is bold, what ± is, which test."""


def number(value: float, c: Column, *, sign: bool = False) -> str:
    x = value * c.factor
    return f"{x:+.{c.decimals}f}" if sign else f"{x:.{c.decimals}f}"


def heading(c: Column, pretty: str) -> str:
    unit = " (%)" if c.points else " (mixed units)" if c.unit == "mixed" else ""
    return pretty + unit


def sheet(
    table: ResultTable,
    tests: Sequence[Test],
    pretty: Mapping[str, str],
    *,
    style: str = "stars",
    directions: Sequence[bool | None] | None = None,
    labels: Mapping[str, str] | None = None,
    repeats: str = "seeds",
) -> Sheet:
    """style `intervals` prints intervals instead of marks for significance."""
    ways = tuple(directions) if directions is not None else tuple(c.higher_is_better for c in table.columns)
    notes: list[str] = []
    signs = _signs(table, tests) if style != "intervals" else {}
    rows = []
    for i, system in enumerate(table.rows):
        line = []
        for j, column in enumerate(table.columns):
            cell = table.cells[i][j]
            marks = _marks([table.cells[r][j] for r in range(len(table.rows))], ways[j])
            line.append(_shown(cell, column, marks[i], signs.get((system, j), ""), style, notes, system))
        rows.append(tuple(line))
    return Sheet(
        rows=tuple((labels or {}).get(r, r) for r in table.rows), datasets=tuple(c.dataset for c in table.columns),
        metrics=tuple(heading(c, pretty.get(c.metric, c.metric)) for c in table.columns), directions=ways, cells=tuple(rows), notes=tuple(notes),
        legend=tuple(_legend(table, tests, style, signs, rows, repeats, labels or {})),
    )  # fmt: skip


def _shown(cell: Cell, column: Column, mark: str, sign: str, style: str, notes: list[str], system: str) -> Shown:
    if cell.value is None:
        reason = cell.reason or "no value"
        if reason not in notes:
            notes.append(reason)
        return Shown(text="--", note=notes.index(reason), comment=f"missing: {reason}")
    note = None
    if cell.reason:
        if cell.reason not in notes:
            notes.append(cell.reason)
        note = notes.index(cell.reason)
    ci = (
        f"[{number(cell.ci.low, column)}, {number(cell.ci.high, column)}]"
        if cell.ci is not None and style == "intervals"
        else ""
    )
    pm = number(cell.std, column) if cell.std is not None and cell.n_seeds > 1 and style != "intervals" else ""
    return Shown(text=number(cell.value, column), plus_minus=pm, interval=ci, mark=mark, sign=sign, note=note, evidence=cell.evidence,
                 comment=f"{cell.evidence or 'no evidence id'} {cell.status} {cell.value!r} {system} {column.dataset} {column.metric} n_seeds={cell.n_seeds}")  # fmt: skip


def _marks(column: Sequence[Cell], way: bool | None) -> list[str]:
    """Best and second best by the ranks of unrounded values; nothing where one system stands alone or direction is unknown."""
    real = sorted({c.rank for c in column if c.rank is not None})
    if way is None or sum(c.value is not None for c in column) < 2 or not real:
        return [""] * len(column)
    second = real[1] if len(real) > 1 else None
    return ["best" if c.rank == 1 else "second" if c.rank is not None and c.rank == second else "" for c in column]


def reference(table: ResultTable, column: int) -> str | None:
    """Whom the signs of a column compare with: ours, else the baseline, else the best of the column."""
    if table.ours in table.rows:
        return table.ours
    if table.baseline in table.rows:
        return table.baseline
    best = [r for r, cells in zip(table.rows, table.cells) if cells[column].rank == 1]
    return best[0] if best else None


def _signs(table: ResultTable, tests: Sequence[Test]) -> dict[tuple[str, int], str]:
    out = {}
    for t in tests:
        if (
            t.refused
            or t.significant is None
            or t.details.get("role") != "primary"
            or not 0 <= t.column < len(table.columns)
        ):
            continue
        who = reference(table, t.column)
        other = t.b if t.a == who else t.a if t.b == who else None
        if other:
            out[other, t.column] = "dagger" if t.significant else "circle"
    return out


def _legend(
    table: ResultTable,
    tests: Sequence[Test],
    style: str,
    signs: Mapping[tuple[str, int], str],
    rows: Sequence[Sequence[Shown]],
    repeats: str,
    labels: Mapping[str, str],
) -> list[str]:
    flat = [c for row in rows for c in row]
    out = []
    if any(c.mark == "best" for c in flat):
        out.append("Bold: best of a column; underlined: second best (on unrounded values, ties share the mark).")
    seeds = sorted({c.n_seeds for line in table.cells for c in line if c.n_seeds > 1})
    if any(c.plus_minus for c in flat):
        out.append(
            f"± is the sample standard deviation over {'–'.join(str(s) for s in ([seeds[0], seeds[-1]] if len(seeds) > 1 else seeds))} {repeats}."
        )
    if any(c.interval for c in flat):
        methods = sorted({c.ci.method for line in table.cells for c in line if c.ci is not None})
        out.append(f"Brackets: 95 % intervals ({', '.join(methods)}).")
    if signs:
        used = [t for t in tests if t.significant is not None and t.details.get("role") == "primary"]
        names = ", ".join(dict.fromkeys(_test_name(t) for t in used))
        named = table.ours or table.baseline
        who = labels.get(named, named) if named else "the best of its column"
        family = next((t.details.get("family") for t in used if t.details.get("family")), len(used))
        correction = (
            f", {used[0].adjustment.capitalize()} correction over {family} comparisons"
            if used[0].adjustment not in ("", "none") and family != 1
            else ""
        )
        parts = []
        if "dagger" in signs.values():
            parts.append(f"†: differs significantly from {who}")
        if "circle" in signs.values():
            parts.append(f"°: not distinguishable from {who}")
        out.append(f"{'; '.join(parts)} ({names}, two-sided, α = {used[0].details.get('alpha', 0.05):g}{correction}).")
    if any(c.note is not None for c in flat):
        out.append("Letters refer to the notes below the table.")
    return out


TESTS = {
    "mcnemar-exact": "exact McNemar test", "paired-permutation": "paired permutation test", "approximate-randomisation": "approximate randomisation",
    "paired-t": "paired t-test", "welch-t": "Welch's t-test", "delong": "DeLong test", "wilcoxon": "Wilcoxon signed-rank test",
    "corrected-resampled-t": "corrected resampled t-test", "hierarchical-bootstrap": "bootstrap over seeds and items",
}  # fmt: skip


def _test_name(t: Test) -> str:
    unit = {"seed": " over seeds", "fold": " over folds", "cluster": " over clusters"}.get(t.unit, "")
    return TESTS.get(t.test, t.test) + unit
