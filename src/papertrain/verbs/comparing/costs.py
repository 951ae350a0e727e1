"""Scores over what they cost and over the size of model or data: two figures, where the sizes are known."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from papertrain.report.figures import scaling, scatter
from papertrain.report.figures._figure import Drawing
from papertrain.results import names

if TYPE_CHECKING:
    from papertrain.verbs.comparing.build import Comparison

LOG_FROM = 20
"""A cost that spans more than this factor is drawn on a logarithmic axis."""
SIZE = re.compile(r"(?:^|[-_. /])(?P<n>\d+(?:[.p]\d+)?)(?P<unit>[kKmMbBtT])(?=$|[-_. /])")
STEP = re.compile(r"(?:^|[-_. /])step[-_]?(?P<n>\d+)(?=$|[-_. /])")
EXAMPLES = re.compile(
    r"(?:^|[-_. /])(?P<n>\d+)(?P<unit>[kKmM]?)[-_ ]?(?:examples|samples|shots?|docs|rows)(?=$|[-_. /])|(?:^|[-_. /])n[-_=]?(?P<n2>\d+)(?=$|[-_. /])"
)
TIMES = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}


def quality(found: Comparison) -> int | None:
    """The first column that is no cost itself."""
    return next((j for j, c in enumerate(found.table.columns) if not _is_cost(c.metric)), None)


def _is_cost(metric: str) -> bool:
    k = names.key(metric)
    return bool(names.DURATION.search(k)) or k in {"cost", "price", "flops", "gpu_hours", "energy", "co2"}


def prices(found: Comparison) -> tuple[str, dict[str, tuple[float, str]]]:
    """(what the cost is, method → its cost and where it was read); nothing where fewer than two were measured."""
    if found.work is not None:
        spent = {c.method: c for c in found.costs if c.method in found.table.rows}
        gpu = {m: (c.gpu_hours_per_run, c.files[0]) for m, c in spent.items() if c.gpu_hours_per_run}
        wall = {m: (c.hours_per_run, c.files[0]) for m, c in spent.items() if c.hours_per_run}
        if len(gpu) >= 2 and len(gpu) == len(wall):
            return "GPU-hours per run", {m: (float(x), f) for m, (x, f) in gpu.items() if x}
        if len(wall) >= 2:
            return "hours per run (wall time)", {m: (float(x), f) for m, (x, f) in wall.items() if x}
        return "", {}
    for j, c in enumerate(found.table.columns):
        if _is_cost(c.metric):
            cells = {r: row[j] for r, row in zip(found.table.rows, found.table.cells)}
            read = {r: (x.value, x.evidence) for r, x in cells.items() if x.value is not None}
            if len(read) >= 2:
                return c.metric.replace("_", " "), read
    return "", {}


def cost(found: Comparison, width: float) -> tuple[str, Drawing] | None:
    said, paid = prices(found)
    j = quality(found)
    if j is None or not paid:
        return None
    rows = [
        (label, paid[name][0], value, low, high, evidence, paid[name][1])
        for name, label, value, low, high, evidence in _scores(found, j)
        if name in paid
    ]
    if len(rows) < 2:
        return None
    c = found.table.columns[j]
    span = [r[1] for r in rows]
    title = f"Cost against score: {names.pretty(c.metric)}{' on ' + c.dataset if c.dataset else ''} over {said}; whiskers are 95 % intervals; the axes do not start at zero"
    log = min(span) > 0 and max(span) / min(span) > LOG_FROM
    options = {
        "xlabel": said,
        "ylabel": _label(found, j),
        "log": log,
        "higher": found.board.directions[found.board.heads[j]] is not False,
        "legend_columns": _columns(width, rows),
    }
    return "scatter", Drawing(
        name="cost",
        title=title,
        header=scatter.HEADER,
        rows=tuple(rows),
        width=width,
        height=max(2.3, width * 0.75),
        options=options,
    )


def _scores(found: Comparison, j: int) -> list[tuple[str, str, float, float | None, float | None, str]]:
    c = found.table.columns[j]
    out = []
    for name, row in zip(found.table.rows, found.table.cells):
        cell = row[j]
        if cell.value is not None:
            low, high = (cell.ci.low * c.factor, cell.ci.high * c.factor) if cell.ci is not None else (None, None)
            out.append((name, found.labels.get(name, name), cell.value * c.factor, low, high, cell.evidence))
    return out


def _label(found: Comparison, j: int) -> str:
    c = found.table.columns[j]
    return names.pretty(c.metric).replace("$R^2$", "R2") + (" (%)" if c.points else "")


def _columns(width: float, rows: list[Any]) -> int:
    return max(1, min(3, int(width * 72 / (8 * 0.55 * max(len(str(r[0])) + 4 for r in rows)))))


def sizes(found: Comparison) -> tuple[str, dict[str, tuple[str, float]]]:
    """(what the size is, method → its family and size). From the plans where there are any, else from the names.

    A family counts with three sizes or more: two points are a line in any case.
    """
    tried: list[tuple[str, dict[str, tuple[str, float]]]] = []
    if found.work is not None:
        plans = {m: p for m, p in found.plans.items() if m in found.table.rows}
        models = {m: ("", float(p.model.parameters)) for m, p in plans.items()}
        data = {m: (p.model.name, float(p.dataset.examples)) for m, p in plans.items() if p.dataset is not None}
        tried += [("parameters", models), ("training examples", data)]
    tried += [
        (what, {m: hit for m in found.table.rows if (hit := _named(m, pattern))})
        for what, pattern in (("training steps", STEP), ("training examples", EXAMPLES), ("parameters", SIZE))
    ]
    for what, placed in tried:
        families: dict[str, set[float]] = {}
        for family, n in placed.values():
            families.setdefault(family, set()).add(n)
        kept = {m: x for m, x in placed.items() if len(families[x[0]]) >= 3}
        if kept:
            return what, kept
    return "", {}


def _named(name: str, pattern: re.Pattern[str]) -> tuple[str, float] | None:
    """(the name without its size, the size): `pythia-1.4b` and `pythia-410m` are one family."""
    m = pattern.search(name)
    if m is None:
        return None
    groups = m.groupdict()
    number = float((groups.get("n") or groups.get("n2") or "0").replace("p", "."))
    family = f"{name[: m.start()]} {name[m.end() :]}".strip(" -_./")
    return (family or "all", number * TIMES[(groups.get("unit") or "").lower()]) if number > 0 else None


def scaled(found: Comparison, width: float) -> tuple[str, Drawing] | None:
    what, placed = sizes(found)
    j = quality(found)
    if j is None or not placed:
        return None
    rows = [
        (placed[name][0] or "all methods", label, placed[name][1], value, low, high, evidence)
        for name, label, value, low, high, evidence in _scores(found, j)
        if name in placed
    ]
    rows.sort(key=lambda r: (r[0], r[2]))
    if len(rows) < 3:
        return None
    c = found.table.columns[j]
    source = "" if found.work is not None else ", as the names say"
    title = f"Scaling: {names.pretty(c.metric)}{' on ' + c.dataset if c.dataset else ''} over {what}{source}; whiskers are 95 % intervals; the axis does not start at zero"
    values = [r[3] for r in rows]
    logy = min(values) > 0 and max(values) / min(values) > LOG_FROM
    options = {"xlabel": what, "ylabel": _label(found, j), "logy": logy, "legend_columns": _columns(width, rows)}
    return "scaling", Drawing(
        name="scaling",
        title=title,
        header=scaling.HEADER,
        rows=tuple(rows),
        width=width,
        height=max(2.3, width * 0.7),
        options=options,
    )
