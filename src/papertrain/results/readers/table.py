"""Plain tables of scores: long (`method,dataset,metric,seed,value`, or one column per metric) and wide (a row per
method, a column per data set). Cells such as `83.3 ± 0.9`, `82.00 (7/8)`, `**83.3**`, `-`."""

from __future__ import annotations

import re
from typing import cast

from papertrain.core.errors import PapertrainError
from papertrain.results import roles
from papertrain.results.names import PERCENT_BY_NATURE, higher_is_better, is_metric, key, mixed, scale
from papertrain.results.readers._cells import cell, faults, numeric, pointer, reason
from papertrain.results.records import Issue, Reader, Reading, Scale, Score
from papertrain.results.source import Row, Source, number

LINK = re.compile(r"^\[(.+?)\]\(.*\)$")


def sniff(source: Source) -> bool:
    table = source.table
    if not table or (source.json is None and source.lines and "args" in table[0]):
        return False
    names = list(table[0])
    r = roles.find(names, source.roles)
    if "value" in r and ("metric" in r or "method" in r or "dataset" in r):
        return True
    return bool(numeric(table, [n for n in names if n not in _taken(r)], _directed(source.roles))) and (
        _first_is_text(table) or "method" in r or "seed" in r or "fold" in r
    )


def _taken(r: dict[str, str]) -> set[str]:
    used = {"method", "dataset", "metric", "seed", "fold", "episode", "split", "source", "id"}
    return {c for role, name in r.items() if role in used for c in name.split("+")}


def _directed(given: dict[str, str]) -> list[str]:
    """The scores whose direction the user gave."""
    return [n for role in ("lower", "higher") for n in given.get(role, "").split("+") if n]


def _first_is_text(table: list[Row]) -> bool:
    first = next(iter(table[0]))
    return any(cell(row.get(first))[0] is None for row in table[:50])


def read(source: Source) -> Reading:
    names = list(source.table[0])
    r = roles.find(names, source.roles)
    if "value" in r:
        return _long(source, r)
    return _wide(source, names, r)


def _scales(metric: str, cells: list[tuple[str, float | None]], given: dict[str, str]) -> dict[str, Scale]:
    """The unit of a metric per data set: one for the whole column, unless it leaps from fractions to percentages."""
    values = [v for _, v in cells if v is not None]
    whole = scale(metric, values)
    datasets = list(dict.fromkeys(d for d, _ in cells))
    if whole in ("percent", "fraction", "unknown") and "unit" in given:
        return dict.fromkeys(datasets, cast(Scale, given["unit"].rpartition("+")[2]))
    if whole != "percent" or key(metric) in PERCENT_BY_NATURE or not mixed(values):
        return dict.fromkeys(datasets, whole)
    out: dict[str, Scale] = {}
    for d in datasets:
        here = [v for name, v in cells if name == d and v is not None]
        out[d] = "mixed" if mixed(here) else scale(metric, here)
    return out


def _unit_issues(metric: str, scales: dict[str, Scale], path: str) -> list[Issue]:
    """What must be known of the units of one metric."""
    out = [
        Issue(
            says=f"{metric}{' on ' + d if d else ''}: fractions and percentages are mixed in one column, so nothing is ranked or tested; "
            "write one unit in the file, or say --columns unit=percent (or unit=fraction) if it is one",
            file=path,
            code="mixed-units",
            column=metric,
        )
        for d, s in scales.items()
        if s == "mixed"
    ]
    named = {s: [d for d in scales if scales[d] == s] for s in ("fraction", "percent")}
    if all(named.values()):
        says = f"{metric}: {', '.join(named['fraction'][:4])} read as fractions, {', '.join(named['percent'][:4])} as percentages; say --columns unit=percent (or unit=fraction) if it is one unit"
        out.append(Issue(says=says, file=path, code="units-differ", level="note", column=metric))
    return out


def _long(source: Source, r: dict[str, str]) -> Reading:
    rows = source.table
    names = list(rows[0])
    figures = numeric(rows, names, _directed(source.roles))
    text = [n for n in names if n not in figures and n not in r.values()]
    if "method" in r:
        r = {**r, "method": _telling_apart(rows, r, r["method"], text)}
    parsed = [cell(row.get(r["value"])) for row in rows]
    metrics = [
        roles.cell(row, r.get("metric")) or (r["value"] if r["value"].lower() not in ("value", "result") else "score")
        for row in rows
    ]
    datasets = [roles.cell(row, r.get("dataset")) for row in rows]
    scales = {
        m: _scales(m, [(d, p[0]) for d, p, q in zip(datasets, parsed, metrics) if q == m], source.roles)
        for m in dict.fromkeys(metrics)
    }
    scores = []
    for i, (row, (value, pm, n)) in enumerate(zip(rows, parsed)):
        m = metrics[i]
        size = number(row.get(r["n"])) if "n" in r else None
        scores.append(Score(
            metric=m, value=value, dataset=datasets[i], system=_system(roles.cell(row, r.get("method"))), seed=roles.cell(row, r.get("seed")),
            fold=roles.cell(row, r.get("fold")), scale=scales[m][datasets[i]], stderr=number(row.get(r["stderr"])) if "stderr" in r else None, n=n or (int(size) if size else None),
            higher_is_better=_direction(m, source.roles), file=str(source.path), sha256=source.sha256, pointer=pointer(source, i, r["value"]),
            settings=_settings(row, r, pm), reason="" if value is not None else reason(source, i, row.get(r["value"])),
            typed=roles.cell(row, r.get("source")).lower() in ("typed", "hand", "manual", "by hand"),
        ))  # fmt: skip
    issues = [issue for m, s in scales.items() for issue in _unit_issues(m, s, str(source.path))]
    issues += faults(source, [r["value"]])
    return Reading(scores=scores, issues=issues, format="long table")


def _settings(row: Row, r: dict[str, str], pm: float | None) -> dict[str, str]:
    out = {"split": roles.cell(row, r.get("split"))} if r.get("split") else {}
    if "episode" in r:
        out["episode"] = roles.cell(row, r["episode"])
    if pm is not None:
        out["plus_minus"] = str(pm)
    return out


def _direction(metric: str, given: dict[str, str]) -> bool | None:
    if metric in given.get("lower", "").split("+"):
        return False
    if metric in given.get("higher", "").split("+"):
        return True
    return higher_is_better(metric)


def _system(text: str) -> str:
    plain = text.strip().strip("*_").strip()
    m = LINK.match(plain)
    return m[1] if m else plain


def _wide(source: Source, names: list[str], r: dict[str, str]) -> Reading:
    table = source.table
    figures = numeric(table, names, _directed(source.roles))
    text = [n for n in names if n not in figures]
    named = _taken({k: v for k, v in r.items() if k != "method"})
    method = (
        r.get("method")
        or _naming(table, [n for n in text if n not in named])
        or ("" if "seed" in r or "fold" in r else names[0])
    )
    method = _telling_apart(table, r, method, text)
    taken = _taken(r) | set(method.split("+"))
    figured = [n for n in figures if n not in taken and is_metric(n)]
    statistic = {r[k] for k in ("stderr", "std", "n") if k in r} | {
        n for n in figured if re.search(r"(^ci_|_ci$|^std_|^rating_q|^n_|_n$|standard_error|\(m\)|\(b\))", n.lower())
    }
    columns = [n for n in figured if n not in statistic]
    if not columns:
        raise PapertrainError(
            "no column of numbers to compare",
            code="no-scores",
            file=source.path,
            ask=["name them with --columns value=NAME,method=NAME"],
        )
    known = [n for n in columns if higher_is_better(n) is not None or n in _directed(source.roles)]
    by_metric = len(known) * 2 >= len(columns) or "dataset" in r or "fold" in r or "seed" in r
    columns = known if by_metric and known else columns
    left = [n for n in figured if n not in columns and n not in statistic]
    issues = []
    if left:
        issues.append(Issue(says=f"columns left out, since their direction is not known: {', '.join(left[:6])}; say it with --columns lower=NAME or higher=NAME",
                            file=str(source.path), code="unknown-direction", level="note"))  # fmt: skip
    if not by_metric:
        issues.append(Issue(says=f"read as one data set per column with an unnamed score ({len(columns)} columns); higher is taken as better: say otherwise with --columns lower=…",
                            file=str(source.path), code="assumed-score", level="note"))  # fmt: skip
    measures = [n for n in figures if n not in taken and not is_metric(n)]
    if measures:
        issues.append(
            Issue(
                says=f"left out: {', '.join(measures[:6])} (counts, sizes and run times are no scores; --columns value=NAME reads one)",
                file=str(source.path),
                code="left-out",
                level="note",
            )
        )
    issues += [*unfinished(table, source), *faults(source, [*columns, *(n for n in figured if n in statistic)])]
    scores, owner = [], _owner(names, columns, r.get("stderr"))
    for name in columns:
        parsed = [cell(row.get(name)) for row in table]
        metric, dataset = (name, "") if by_metric else ("score", name)
        datasets = [roles.cell(row, r.get("dataset")) or dataset for row in table]
        scales = _scales(metric, [(d, p[0]) for d, p in zip(datasets, parsed)], source.roles)
        issues += _unit_issues(metric, scales, str(source.path))
        for i, (row, (value, pm, n)) in enumerate(zip(table, parsed)):
            se = number(row.get(r["stderr"])) if name == owner else None
            size = number(row.get(r["n"])) if "n" in r else None
            scores.append(Score(
                metric=metric, value=value, dataset=datasets[i], system=_system(roles.cell(row, method)) or f"row {i + 1}" if method else "",
                seed=roles.cell(row, r.get("seed")), fold=roles.cell(row, r.get("fold")), scale=scales[datasets[i]], stderr=se, n=n or (int(size) if size else None),
                higher_is_better=_direction(metric, source.roles), file=str(source.path), sha256=source.sha256, pointer=pointer(source, i, name),
                settings=_settings(row, r, pm), reason="" if value is not None else reason(source, i, row.get(name)),
            ))  # fmt: skip
    if by_metric and "dataset" in r:
        # a metric that does not apply to a data set is an empty column there, not a missing result
        filled = {(s.metric, s.dataset) for s in scores if s.value is not None}
        scores = [s for s in scores if (s.metric, s.dataset) in filled]
    return Reading(scores=scores, issues=issues, format="table, one column per metric" if by_metric else "wide table")


def _owner(names: list[str], columns: list[str], stderr: str | None) -> str | None:
    """Whose error a column of errors is: the score's that stands before it, else the first one's."""
    if stderr is None or not columns:
        return None
    before = [n for n in names[: names.index(stderr)] if n in columns] if stderr in names else []
    return before[-1] if before else columns[0]


STATES = ("state", "status")
BROKEN = {"crashed", "failed", "killed", "running", "preempted", "preempting", "pending", "scheduled"}


def unfinished(table: list[Row], source: Source) -> list[Issue]:
    """Trackers say how each run ended: the last numbers of a run that broke off are no result."""
    column = next((n for n in table[0] if n.strip().lower() in STATES), "") if table else ""
    broken = [i for i, row in enumerate(table, 1) if column and str(row.get(column, "")).strip().lower() in BROKEN]
    if not broken:
        return []
    first = str(table[broken[0] - 1].get(column)).lower()
    says = f"{len(broken)} of {len(table)} runs did not finish (row {broken[0]}: {first}): their last numbers are no results"
    return [Issue(says=says, file=str(source.path), code="not-finished")]


def _naming(table: list[Row], text: list[str]) -> str:
    """The column that names the rows: the one with the most different texts, the first of several."""
    return max(text, key=lambda n: len({str(row.get(n)) for row in table}), default="")


def _telling_apart(table: list[Row], r: dict[str, str], method: str, text: list[str]) -> str:
    """The method's columns, with the text columns added that tell its rows apart (`name` and `pretrained`): rows of two
    systems must not pass for repeated runs of one."""
    parts = [p for p in method.split("+") if p]
    keys = [
        k for role in ("dataset", "metric", "seed", "fold", "episode", "split") if role in r for k in r[role].split("+")
    ]
    taken = _taken(r) | set(parts)
    for extra in [n for n in text if n not in taken]:
        rows = [tuple(str(row.get(c, "")) for c in (*parts, *keys)) for row in table]
        if len(set(rows)) == len(rows):
            break
        more = [tuple(str(row.get(c, "")) for c in (*parts, extra, *keys)) for row in table]
        if len(set(more)) > len(set(rows)):
            parts.append(extra)
    return "+".join(parts)


READER = Reader(id="table", title="tables of scores (csv, tsv, md, json, parquet)", sniff=sniff, read=read, order=80)
