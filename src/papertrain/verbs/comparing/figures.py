"""Which figures a comparison gets, and their data."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from papertrain.core.discover import discover
from papertrain.core.results import Column
from papertrain.core.workspace import Workspace
from papertrain.report import figures
from papertrain.report.figures import bars, cd, confusion, curves, dots, heatmap, seeds
from papertrain.report.figures._figure import Drawing, Files, draw
from papertrain.report.venue import venue
from papertrain.results import names, statement
from papertrain.results.metrics.classify import confusion as counts
from papertrain.verbs.comparing.build import Comparison
from papertrain.verbs.comparing.costs import cost, scaled
from papertrain.verbs.comparing.deserved import BARS_UP_TO, DRAWN_ANYWAY
from papertrain.verbs.comparing.table import Asked

POINTS = 400


def drawn(found: Comparison, asked: Asked) -> Iterator[Files]:
    """The usual ones, as far as the data carry them: main, learning curves, confusion, seeds; others when asked for or with --all."""
    known = discover(figures, "FIGURE")
    v = venue(asked.venue)
    width = min(v.column_pt / 72.27, 6.5)
    makers = {
        "main": _main,
        "differences": _differences,
        "curves": _curves,
        "confusion": _confusion,
        "seeds": _seeds,
        "cd": _cd,
        "heatmap": _heatmap,
        "cost": cost,
        "scaling": scaled,
    }
    asked_for = set(asked.figures) | (set(makers) if asked.everything else set())
    for name, make in makers.items():
        if name not in DRAWN_ANYWAY and name not in asked_for:
            continue
        made = make(found, min(v.text_pt / 72.27, 7.0) if name in ("curves", "cd", "heatmap") else width)
        if made is not None:
            kind, drawing = made
            yield draw(known[kind], _sized(drawing, v.figure_pt))


def _sized(d: Drawing, size: float) -> Drawing:
    import msgspec

    return msgspec.structs.replace(d, size=max(size, 8.0))


def _shown(x: float, c: Column) -> float:
    return x * c.factor


def _group(c: Column, several_datasets: bool, several_metrics: bool) -> str:
    metric = names.pretty(c.metric).replace("$R^2$", "R2")
    if several_datasets and not several_metrics:
        return c.dataset or metric
    return f"{c.dataset} {metric}".strip() if several_datasets else metric


def _columns(found: Comparison) -> list[int]:
    """Columns that can share an axis with the first one."""
    first = found.table.columns[0] if found.table.columns else None
    return [j for j, c in enumerate(found.table.columns) if first is not None and c.points == first.points]


def _axis(found: Comparison, chosen: list[int]) -> str:
    metrics = {names.pretty(found.table.columns[j].metric).replace("$R^2$", "R2") for j in chosen}
    unit = " (%)" if found.table.columns[chosen[0]].points else ""
    return (metrics.pop() if len(metrics) == 1 else "score") + unit


def _main(found: Comparison, width: float) -> tuple[str, Drawing] | None:
    table, chosen = found.table, _columns(found)
    if not chosen or not any(row[j].value is not None for row in table.cells for j in chosen):
        return None
    datasets, metrics = {table.columns[j].dataset for j in chosen}, {table.columns[j].metric for j in chosen}
    rows: list[tuple[Any, ...]] = []
    for name, line in zip(table.rows, table.cells):
        for j in chosen:
            c, cell = table.columns[j], line[j]
            ci = cell.ci
            low, high = (_shown(ci.low, c), _shown(ci.high, c)) if ci is not None else (None, None)
            group = _group(c, len(datasets) > 1, len(metrics) > 1)
            value = _shown(cell.value, c) if cell.value is not None else None
            rows.append((found.labels.get(name, name), group, value, low, high, ci.method if ci else "", cell.evidence))
    groups = list(dict.fromkeys(r[1] for r in rows))
    label = _axis(found, chosen)
    use_bars = len(groups) <= BARS_UP_TO and len(groups) * len(table.rows) <= 40
    legend = max(1, int(width * 72 / (8 * 0.55 * max(len(n) + 4 for n in table.rows))))
    if use_bars:
        rotate = 30 if len(groups) > 3 or max(map(len, groups)) * len(groups) > width * 12 else 0
        options = {"ylabel": label, "rotate": rotate, "legend_columns": legend}
        d = Drawing(name="main", title=f"Main result: {label}, bars from zero; whiskers are 95 % intervals, over seeds where there are three or more, else over items", header=bars.HEADER, rows=tuple(rows), width=width,
                    height=max(2.2, width * 0.62), options=options)  # fmt: skip
        return "bars", d
    options = {"xlabel": f"{label}; the axis does not start at zero", "zero": False, "legend_columns": legend}
    return "dots", Drawing(name="main", title=f"Main result: {label}; the axis does not start at zero", header=dots.HEADER, rows=tuple(rows), width=width,
                           height=min(9.0, 1.0 + 0.16 * len(groups) * max(1.0, len(table.rows) * 0.45)), options=options)  # fmt: skip


def _differences(found: Comparison, width: float) -> tuple[str, Drawing] | None:
    rows, percent = [], None
    for t in found.tests:
        c = found.table.columns[t.column]
        if (
            t.refused
            or t.ci is None
            or t.difference is None
            or t.details.get("role") != "primary"
            or (percent is not None and percent != c.points)
        ):
            continue
        percent = c.points
        rows.append(
            (
                f"{t.a} - {t.b}",
                statement.where(c),
                _shown(t.difference, c),
                _shown(t.ci.low, c),
                _shown(t.ci.high, c),
                t.test,
                "",
            )
        )
    rows = [r for r in rows if all(math.isfinite(x) for x in r[2:5])]
    if not rows:
        return None
    unit = " (points)" if percent else ""
    groups = len({r[1] for r in rows})
    options = {"xlabel": f"difference{unit}, 95 % interval", "zero": True, "legend_columns": 2}
    return "dots", Drawing(name="differences", title="Differences between systems with their intervals; the line is zero", header=dots.HEADER, rows=tuple(rows), width=width,
                           height=min(9.0, 1.1 + 0.32 * max(len(rows), groups)), options=options)  # fmt: skip


def _curves(found: Comparison, width: float) -> tuple[str, Drawing] | None:
    if found.work is None:
        return None
    try:
        from papertrain.monitor.curves import several
    except ImportError:
        return None
    work = Workspace(found.work)
    runs = {r.id: r for r in work.grid() if work.run_path(r.id).is_dir()}
    series = several({r: work.run_path(r) for r in runs})
    wanted = [
        "train_loss",
        *(
            n
            for n in ("eval_loss", "eval_accuracy", "eval_macro_f1", "eval_f1")
            if any(n in s for s in series.values())
        ),
    ][:3]
    rows: list[tuple[Any, ...]] = []
    units: dict[str, dict[str, None]] = {}
    for signal in wanted:
        for run, found_series in series.items():
            line = found_series.get(signal)
            if line is None:
                continue
            steps, values = line.steps, line.values
            units.setdefault(signal, {})[line.unit] = None
            thin = max(1, len(steps) // POINTS)
            for step, value in list(zip(steps, values))[::thin]:
                if math.isfinite(value):
                    rows.append(
                        (
                            found.labels.get(runs[run].method, runs[run].method),
                            runs[run].seed,
                            signal,
                            step,
                            float(value),
                            f"runs/{run}",
                        )
                    )
    if not rows:
        return None
    shown = list(dict.fromkeys(r[2] for r in rows))
    options = {
        "log": dict.fromkeys(shown, False),
        "unit": {signal: " or ".join(units[signal]) for signal in shown},
    }
    return "curves", Drawing(name="curves", title="Learning curves of every run, read from its own log", header=curves.HEADER, rows=tuple(rows), width=min(width, max(2.3 * len(shown), 2.6)),
                             height=2.4, options=options)  # fmt: skip


def _confusion(found: Comparison, width: float) -> tuple[str, Drawing] | None:
    board = found.board
    order = [s for s in (found.table.ours, *found.table.rows) if s]
    for system in dict.fromkeys(order):
        for head in board.heads:
            entries = [
                e
                for e in board.runs(system, head).values()
                if e.items is not None and e.items.label is not None and e.items.prediction is not None
            ]
            if head.metric not in ("accuracy", "macro_f1") or not entries:
                continue
            total: dict[tuple[str, str], int] = {}
            classes: set[str] = set()
            for e in entries:
                if e.items is None or e.items.label is None or e.items.prediction is None:
                    continue
                listed, table = counts(e.items.label, e.items.prediction)
                classes |= set(listed)
                for g, line in zip(listed, table):
                    for p, n in zip(listed, line):
                        total[g, p] = total.get((g, p), 0) + n
            if not 2 <= len(classes) <= 40:
                continue
            rows = tuple((g, p, total.get((g, p), 0)) for g in sorted(classes) for p in sorted(classes))
            of = f"{system} on {head.dataset}" if head.dataset else system
            seeds_ = f", counts of {len(entries)} seeds added" if len(entries) > 1 else ""
            size = min(max(width, 0.42 * len(classes) + 1.6), 7.0)
            return "confusion", Drawing(
                name="confusion",
                title=f"Confusion matrix of {of}{seeds_}",
                header=confusion.HEADER,
                rows=rows,
                width=size,
                height=size * 0.82,
            )
    return None


def _seeds(found: Comparison, width: float) -> tuple[str, Drawing] | None:
    table, chosen = found.table, _columns(found)[: max(1, int(width // 1.55))]
    datasets, metrics = {table.columns[j].dataset for j in chosen}, {table.columns[j].metric for j in chosen}
    unit = " (%)" if chosen and table.columns[chosen[0]].points else ""
    rows: list[tuple[Any, ...]] = []
    for name, line in zip(table.rows, table.cells):
        for j in chosen:
            c, cell = table.columns[j], line[j]
            values = cell.seeds or ({"": cell.value} if cell.value is not None else {})
            rows += [
                (
                    found.labels.get(name, name),
                    _group(c, len(datasets) > 1, len(metrics) > 1) + unit,
                    s,
                    _shown(v, c),
                    cell.evidence,
                )
                for s, v in values.items()
            ]
    if not rows or max(cell.n_seeds for line in table.cells for cell in line) < 2:
        return None
    groups = len({r[1] for r in rows})
    return "seeds", Drawing(name="seeds", title="Every seed as a point, the mean as a line; the axis does not start at zero", header=seeds.HEADER, rows=tuple(rows),
                            width=max(width, 1.8 * groups), height=2.4)  # fmt: skip


def _cd(found: Comparison, width: float) -> tuple[str, Drawing] | None:
    o = next((o for o in found.overall if o["test"] == "friedman"), None)
    if o is None:
        return None
    rows = tuple((found.labels.get(s, s), float(r), o["n"]) for s, r in zip(o["systems"], o["mean_ranks"]))
    options = {"cd": float(o["cd"]), "cliques": [[found.labels.get(s, s) for s in g] for g in o["cliques"]]}
    return "cd", Drawing(name="cd", title=f"Mean ranks of {o['metric']} over {o['n']} data sets, Nemenyi critical difference at {o['alpha']:g}", header=cd.HEADER, rows=rows,
                         width=min(width, 4.8), height=1.2 + 0.17 * len(rows) + 0.1 * len(o["cliques"]), options=options)  # fmt: skip


def _heatmap(found: Comparison, width: float) -> tuple[str, Drawing] | None:
    table = found.table
    datasets, metrics = {c.dataset for c in table.columns}, {c.metric for c in table.columns}
    if len(table.rows) < 3 or not 2 <= len(table.columns) <= 16:
        return None
    rows: list[tuple[Any, ...]] = []
    for i, name in enumerate(table.rows):
        for j, c in enumerate(table.columns):
            values = [line[j].value for line in table.cells]
            real = [v for v in values if v is not None]
            value, shade = values[i], None
            if value is not None:
                span = max(real) - min(real)
                shade = 1.0 if span == 0 else (value - min(real)) / span
                shade = (
                    shade if found.board.directions[found.board.heads[j]] is not False else 1 - shade if span else 1.0
                )
            unit = " (%)" if c.points else ""
            shown = statement.value(value, c) if value is not None else ""
            rows.append(
                (
                    found.labels.get(name, name),
                    _group(c, len(datasets) > 1, len(metrics) > 1) + unit,
                    value,
                    shown,
                    shade,
                    table.cells[i][j].evidence,
                )
            )
    return "heatmap", Drawing(name="heatmap", title="Every method in every column; colour compares within a column", header=heatmap.HEADER, rows=tuple(rows), width=width,
                              height=1.3 + 0.27 * len(table.rows))  # fmt: skip
