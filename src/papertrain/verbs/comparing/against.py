"""What changed since the tables of an earlier comparison: numbers, verdicts of tests, and what came or went."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from papertrain.core.errors import PapertrainError
from papertrain.core.files import read_text
from papertrain.core.texts import say

if TYPE_CHECKING:
    from papertrain.core.results import Column, Test
    from papertrain.verbs.comparing.build import Comparison

SAME = 1e-12
MACRO = re.compile(r"\\newcommand\{\\(pt[A-Za-z]+)\}\{([^{}]*)\}%")


def differences(found: Comparison, folder: Path) -> list[dict[str, Any]]:
    """Held against `tables/main.csv` and `tests.csv`; where only the LaTeX was kept, against the macros of numbers.tex."""
    file = _first(folder, "main.csv")
    if file is not None:
        tests = _first(folder, "tests.csv")
        return [*_numbers(found, rows_of(file)), *(_verdicts(found, rows_of(tests)) if tests is not None else [])]
    macros = _first(folder, "numbers.tex")
    if macros is not None:
        return _macros(found, read_text(macros))
    raise PapertrainError(
        "no tables/main.csv (or numbers.tex) of an earlier comparison in it", code="no-table", file=folder
    )


def _first(folder: Path, name: str) -> Path | None:
    places = (folder / "tables" / name, folder / name, *sorted(folder.glob(f"*/tables/{name}"))[:1])
    return next((f for f in places if f.is_file()), None)


def rows_of(file: Path) -> list[dict[str, str]]:
    """A table that compare wrote. Raises PapertrainError."""
    try:
        return [
            {k: _name(v) for k, v in r.items() if k is not None} for r in csv.DictReader(io.StringIO(read_text(file)))
        ]
    except csv.Error as error:
        raise PapertrainError(f"this is no readable table: {error}", code="bad-table", file=file) from None


def _name(text: Any) -> str:
    """Without the apostrophe that keeps a spreadsheet from running a name."""
    s = text if isinstance(text, str) else ""
    return s[1:] if s[:1] == "'" and s[1:2] in ("=", "+", "@", "-", "\t", "\r") else s


def _numbers(found: Comparison, rows: list[dict[str, str]]) -> list[dict[str, Any]]:
    from papertrain.results.source import number

    table = found.table
    columns = {(c.dataset, c.metric): c for c in table.columns}
    old = {(r.get("method", ""), r.get("dataset", ""), r.get("metric", "")): number(r.get("value")) for r in rows}
    new = {
        (s, c.dataset, c.metric): cell.value
        for s, row in zip(table.rows, table.cells)
        for c, cell in zip(table.columns, row)
    }
    out = []
    for key in dict.fromkeys([*old, *new]):
        before, now = old.get(key), new.get(key)
        if before == now and key in old and key in new:
            continue
        if before is not None and now is not None and abs(before - now) <= SAME * max(abs(before), 1):
            continue
        c = columns.get(key[1:])
        was, is_ = _shown(before, c), _shown(now, c)
        where = " ".join(x for x in key if x)
        if key not in old:
            says = say("{where}: new, {now}", where=where, now=is_)
        elif key not in new:
            says = say("{where}: gone, was {was}", where=where, was=was)
        elif was == is_:
            says = say(
                "{where}: {was} still, by {x} otherwise", where=where, was=was, x=f"{(now or 0) - (before or 0):+.2g}"
            )
        else:
            says = say("{where}: {was} → {now}", where=where, was=was, now=is_)
        out.append(
            {
                "method": key[0],
                "dataset": key[1],
                "metric": key[2],
                "before": before,
                "now": now,
                "says": says,
                "visible": was != is_,
            }
        )
    return out


def _shown(x: float | None, c: Column | None) -> str:
    return "–" if x is None else f"{x * c.factor:.{c.decimals}f}" if c is not None else f"{x:g}"


def _verdicts(found: Comparison, rows: list[dict[str, str]]) -> list[dict[str, Any]]:
    """Tests that say something else than they did: significant or not, made or refused."""
    table = found.table
    old = {
        (r.get("a", ""), r.get("b", ""), r.get("dataset", ""), r.get("metric", "")): r
        for r in rows
        if r.get("role", "primary") == "primary"
    }
    out = []
    for t in found.tests:
        c = table.columns[t.column]
        before = old.get((t.a, t.b, c.dataset, c.metric))
        if before is None or t.details.get("role", "primary") != "primary":
            continue
        was = (
            "refused"
            if before.get("refused")
            else "significant"
            if before.get("significant", "").lower() == "true"
            else "not significant"
        )
        now = _verdict(t)
        if was != now:
            where = " ".join(x for x in (c.dataset, c.metric) if x)
            says = say("{a} against {b}, {where}: {was} → {now}", a=t.a, b=t.b, where=where, was=was, now=now)
            out.append(
                {
                    "a": t.a,
                    "b": t.b,
                    "dataset": c.dataset,
                    "metric": c.metric,
                    "before": was,
                    "now": now,
                    "says": says,
                    "visible": True,
                }
            )
    return out


def _verdict(t: Test) -> str:
    return "refused" if t.refused else "significant" if t.significant else "not significant"


def _macros(found: Comparison, text: str) -> list[dict[str, Any]]:
    """Only what was printed can be held against what would be printed now."""
    from papertrain.report import latex

    old = dict(MACRO.findall(text))
    new = dict(MACRO.findall(latex.numbers(found.table, found.tests)))
    out = []
    for name in dict.fromkeys([*old, *new]):
        was, now = old.get(name), new.get(name)
        if was != now:
            says = say("{where}: {was} → {now}", where=f"\\{name}", was=was or "–", now=now or "–")
            out.append({"macro": name, "before": was, "now": now, "says": says, "visible": True})
    return out
