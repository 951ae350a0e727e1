"""From paths to a table with tests: the part of `compare` that computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from papertrain.core.commands import quoted
from papertrain.core.errors import PapertrainError, nearest
from papertrain.core.results import Evidence, ResultTable, Test
from papertrain.core.texts import english
from papertrain.core.training import TrainingPlan
from papertrain.core.units import show_number
from papertrain.core.values import Value, plain
from papertrain.core.workspace import Workspace
from papertrain.report.table import Sheet, sheet
from papertrain.results import board as boards
from papertrain.results import checks, names, overall, roles, sanity, statement
from papertrain.results.board import Board
from papertrain.results.collect import Collection, Placed, collect
from papertrain.results.records import Issue
from papertrain.results.stats.outcome import TOLERANCE, finite, show_p
from papertrain.verbs.comparing.study import Cost, costs, plans
from papertrain.verbs.comparing.table import Asked, ordered, table_of, tests_of, with_columns
from papertrain.verbs.evaluating.scores import collect_grid, kinds_of, state_of


class Comparison(Value, frozen=True, kw_only=True):
    """What came out. proposed: the figures that these results deserve. missing: runs of the study still to do."""

    board: Board
    table: ResultTable
    tests: list[Test]
    issues: list[Issue]
    evidence: list[Evidence]
    overall: list[dict[str, Any]]
    proposed: list[dict[str, Any]]
    missing: list[dict[str, str]]
    understood: str
    placed: list[Placed]
    work: Path | None = None
    labels: dict[str, str] = {}
    plans: dict[str, TrainingPlan] = {}
    costs: list[Cost] = []
    """What the workspace says of its trainings: read once, for the tables and the figures."""
    venue: str = ""
    """Whose page the tables and figures are made for: the one asked for, else the study's."""


def split(names_: Sequence[str]) -> tuple[str, ...]:
    return tuple(n.strip() for text in names_ for n in text.split(",") if n.strip())


class Styled(Value, frozen=True, kw_only=True):
    """How tables look. intervals: they replace the marks for significance. aligned: at the decimal point, by siunitx."""

    venue: str
    intervals: bool
    aligned: bool


def styles(style: Sequence[str]) -> Styled:
    from papertrain.report.venue import venue

    words = [w for w in split(style) if w not in ("intervals", "stars", "siunitx")]
    if len(words) > 1:
        raise PapertrainError(f"one venue at a time: {', '.join(words)}", code="bad-style")
    name = words[0] if words else ""
    venue(name)
    return Styled(venue=name, intervals="intervals" in split(style), aligned="siunitx" in split(style))


def files(paths: Sequence[Path], system: Sequence[str], asked: Asked) -> Comparison:
    """Loose files and folders."""
    targets: list[tuple[str, Path]] = [("", Path(p)) for p in paths]
    for text in system:
        name, mark, path = text.partition("=")
        if not mark or not name.strip() or not path.strip():
            raise PapertrainError(f"--system {text!r}: write NAME=PATH", code="bad-system")
        targets.append((name.strip(), Path(path.strip())))
    found = collect(targets, columns=asked.columns, maps=asked.maps)
    understood = ""
    if not system and (len(found.placed) > 1 or any(p.seed for p in found.placed)):
        understood = _understood(found.placed)
    return _compared(found, asked, [n for n, _ in targets if n], root=None, understood=understood)


def _understood(placed: Sequence[Placed]) -> str:
    lines = [
        f"  {p.file}  →  method={p.method or '?'}, dataset={p.dataset or '?'}, seed={p.seed or '?'} ({p.format})"
        for p in placed
    ]
    shown = lines if len(lines) <= 12 else [*lines[:10], f"  … {len(lines) - 10} more"]
    return "\n".join(["read as (correct it with --map):", *shown])


def workspace(path: Path, asked: Asked) -> Comparison:
    """The grid of a study."""
    work = Workspace.open(path)
    study, grid = work.study, work.grid()
    for name in (asked.ours, asked.baseline):
        if name is not None:
            study.method(name)
    found = collect_grid(work, grid, roles.parse(asked.columns))
    seen = {(p.method, p.dataset, p.seed) for p in found.placed} | {(i.system, i.dataset, i.seed) for i in found.items}
    missing = [
        {"run": r.id, "because": state_of(work, r), "command": f"papertrain launch {quoted(path)} --run {quoted(r.id)}"}
        for r in grid
        if (r.method, r.data, str(r.seed)) not in seen
    ]
    issues = list(found.issues)
    trials = {m.name: m.trials for m in study.methods if m.trials is not None}
    ours = asked.ours or study.ours
    if ours in trials and any(trials[ours] > n for b, n in trials.items() if b != ours):
        most = ", ".join(f"{b} {n}" for b, n in trials.items() if b != ours)
        issues.append(
            Issue(
                says=f"{ours} was tuned with {trials[ours]} trials, the others with {most}: give every method the same budget",
                code="tuning-budget",
            )
        )
    asked, paged = _page(asked, study.venue)
    issues += paged
    filled = msgspec.structs.replace(
        asked,
        ours=ours or (study.methods[0].name if len(study.methods) > 1 and study.written else None),
        baseline=asked.baseline or next(iter(study.baselines), None),
        deterministic=(*asked.deterministic, *(m.name for m in study.methods if m.deterministic)),
    )
    metrics = {d.name: d.metrics for d in study.datasets if d.metrics and not asked.metrics}
    out = _compared(
        Collection(scores=found.scores, items=found.items, issues=issues, placed=found.placed), filled, [m.name for m in study.methods], root=work.root, metrics=metrics, kinds=kinds_of(work),
        datasets=[d.name for d in study.datasets], allowed=not found.placed,
    )  # fmt: skip
    labels = {m.name: m.label for m in study.methods if m.label}
    return msgspec.structs.replace(
        _with_gaps(out, missing),
        work=path,
        missing=missing,
        labels=labels,
        venue=asked.venue,
        plans=plans(work),
        costs=costs(work),
    )


def _page(asked: Asked, named: str) -> tuple[Asked, list[Issue]]:
    """The venue of the study where none was asked for. One whose page is not known is said, not guessed."""
    from papertrain.report.venue import venue

    if asked.venue or not named:
        return asked, []
    try:
        venue(named)
    except PapertrainError:
        says = f"{named}, the venue of the study, has a page that is not known here: tables are made for an ordinary one (--style NAME)"
        return asked, [Issue(says=says, code="unknown-venue", level="note")]
    return msgspec.structs.replace(asked, venue=named), []


def _with_gaps(found: Comparison, missing: list[dict[str, str]]) -> Comparison:
    """Reasons from the grid: why a cell is empty, and which seeds a mean lacks."""
    rows = []
    for system, row in zip(found.table.rows, found.table.cells):
        line = []
        for c, cell in zip(found.table.columns, row):
            gone = [m for m in missing if m["run"].startswith(f"{system}.{c.dataset}.")]
            if cell.value is None and gone:
                why = (
                    gone[0]["because"]
                    if len({m["because"] for m in gone}) == 1
                    else "; ".join(f"{m['run']}: {m['because']}" for m in gone)
                )
                cell = msgspec.structs.replace(cell, reason=why)
            elif gone:
                seeds = ", ".join(m["run"].rpartition(".")[2] for m in gone)
                cell = msgspec.structs.replace(cell, reason=f"without seed {seeds}: {gone[0]['because']}")
            line.append(cell)
        rows.append(tuple(line))
    table = msgspec.structs.replace(found.table, cells=tuple(rows))
    tests = []
    for t in found.tests:
        empty = next(
            (s for s in (t.a, t.b) if t.refused and rows[found.table.rows.index(s)][t.column].value is None), None
        )
        reason = rows[found.table.rows.index(empty)][t.column].reason if empty else ""
        tests.append(msgspec.structs.replace(t, refused=f"{empty} has no value here: {reason}") if empty else t)
    return msgspec.structs.replace(found, table=table, tests=tests)


def _held_to(name: str, board: Board) -> None:
    """A system that is said to have no chance in it gives one value. Raises PapertrainError where its runs differ."""
    for head in board.heads:
        values = [e.value for e in board.runs(name, head).values() if e.value is not None]
        if values and max(values) - min(values) > TOLERANCE * max(map(abs, values)):
            raise PapertrainError(
                f"{name} is said to be deterministic, and its {len(values)} runs differ in {head.metric}: {show_number(min(values))} to {show_number(max(values))}",
                code="contradiction",
            )


def _compared(
    found: Collection,
    asked: Asked,
    order: Sequence[str],
    *,
    root: Path | None,
    understood: str = "",
    metrics: Mapping[str, Sequence[str]] | None = None,
    kinds: Mapping[str, str] | None = None,
    datasets: Sequence[str] = (),
    allowed: bool = False,
) -> Comparison:
    given = roles.parse(asked.columns)
    ways = dict.fromkeys(filter(None, given.get("lower", "").split("+")), False) | dict.fromkeys(
        filter(None, given.get("higher", "").split("+")), True
    )
    board = boards.build(
        found,
        wanted=asked.metrics,
        positive=given.get("positive", ""),
        everything=asked.everything,
        order=order,
        metrics=metrics,
        directions=ways,
        kinds=kinds,
    )
    if not board.heads and not allowed:
        wanted = f" named {', '.join(asked.metrics)}" if asked.metrics else ""
        known = sorted({s.metric for s in found.scores if s.metric})
        raise PapertrainError(
            f"no scores{wanted} to compare in these files",
            code="no-scores",
            nearest=nearest(asked.metrics[0], known) if asked.metrics else None,
        )
    for name in (asked.ours, asked.baseline, *asked.deterministic):
        if name is not None and name not in board.systems:
            raise PapertrainError(
                f"no system {name!r} here (there are {', '.join(board.systems[:8])})",
                code="unknown-system",
                nearest=nearest(name, board.systems),
            )
    board = msgspec.structs.replace(board, systems=ordered(board.systems, order, asked))
    board = with_columns(board, datasets)
    for name in asked.deterministic:
        _held_to(name, board)
    read = [e for head in board.heads for s in board.systems for e in board.runs(s, head).values()]
    outputs = {id(e.items): e.items for e in read if e.items is not None}
    issues = [
        *board.issues,
        *sanity.of_items(outputs.values()),
        *sanity.of_scores(e.score for e in read if e.score is not None),
    ]
    issues += checks.between_rows(board)
    table, evidence = table_of(board, asked, root)
    tests = tests_of(board, asked)
    more = overall.over_datasets(board, alpha=asked.alpha)
    return Comparison(
        board=board, table=table, tests=tests, issues=list(dict.fromkeys(issues)), evidence=evidence, overall=more, proposed=[], missing=[],
        understood=understood, placed=found.placed,
    )  # fmt: skip


@english()
def sheet_of(found: Comparison, asked: Asked) -> Sheet:
    pretty = {c.metric: names.pretty(c.metric).replace("$R^2$", "R²") for c in found.table.columns}
    ways = [found.board.directions[h] for h in found.board.heads]
    made = sheet(
        found.table,
        found.tests,
        pretty,
        style="intervals" if asked.intervals else "stars",
        directions=ways,
        labels=found.labels,
        repeats="folds" if any(e.fold for runs in found.board.entries.values() for e in runs.values()) else "seeds",
    )
    if not asked.intervals:
        return made
    main = [t for t in found.tests if not t.refused and t.details.get("role") == "primary"]
    lines = [
        f"{found.labels.get(t.a, t.a)} – {found.labels.get(t.b, t.b)}, {statement.where(found.table.columns[t.column])}: "
        + statement.as_interval(t, found.table.columns[t.column], ways[t.column])
        for t in main[:6]
    ]
    return msgspec.structs.replace(made, legend=(*made.legend, *(f"{line}." for line in lines)))


def data(found: Comparison, written: Sequence[str], changes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The contract's `data`."""
    table = found.table
    columns = [
        {
            "dataset": h.dataset,
            "metric": h.metric,
            "higher_is_better": found.board.directions[h],
            "unit": h.scale,
            "decimals": c.decimals,
        }
        for h, c in zip(found.board.heads, table.columns)
    ]
    tests = []
    for t in found.tests:
        if t.refused:
            tests.append({"column": t.column, "a": t.a, "b": t.b, "refused": t.refused, "details": t.details})
            continue
        one = {k: v for k, v in plain(msgspec.structs.replace(t, details=finite(t.details))).items() if k != "refused"}
        tests.append({**one, "p_text": show_p(t.p)})
    document: dict[str, Any] = finite(
        {
            "table": {
                "rows": list(table.rows),
                "columns": columns,
                "cells": [[plain(c) for c in row] for row in table.cells],
                "ours": table.ours,
                "baseline": table.baseline,
            },
            "tests": tests,
            "overall": found.overall,
            "files": list(written),
            "issues": [{k: v for k, v in plain(i).items() if v or k in ("says", "file")} for i in found.issues],
            "evidence": [plain(e) for e in found.evidence],
            "figures": found.proposed,
            "missing": found.missing,
            "read_as": [plain(p) for p in found.placed],
            "changes": list(changes),
        }
    )
    return document
