"""The cells of a table of scores: numbers as people write them (`83.3 ± 0.9`, `82.00 (7/8)`, `**83.3**`), cells that say
that nothing was measured (`-`, `n/a`), and cells that were meant as numbers and are none (`86.x`, `inf`)."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence

from papertrain.results.names import higher_is_better
from papertrain.results.records import Issue
from papertrain.results.source import Row, Source, number

EMPTY = {"", "-", "--", "---", "–", "—", "/", "n/a", "na", "n.a.", "nan", "<na>", "#n/a", "none", "null", "nil", "tba", "tbd", "not run",
         "not available", "not reported", "n.r."}  # fmt: skip
PM = re.compile(r"^\s*(.+?)\s*(?:±|\+-|\+/-|\\pm)\s*([0-9.eE+-]+)\s*%?\s*$")
BRACKETS = re.compile(r"^\s*([0-9.eE+-]+)\s*\(([0-9.]+)\)\s*$")
COUNTS = re.compile(r"^\s*([0-9.]+)\s*\((\d+)/(\d+)\)\s*$")
MEANT = re.compile(
    r"[<>~≈≤≥+\-−]*\s*(?:\d+(?:[.,]\d*)?\s*(?:[^\d\s.]{0,3}|(?:±|\+-|\+/-|\\pm|\().*)|inf|infinity|∞|%|\?+|error|fail(?:ed)?|oom|#\w+[/!?]*\w*[!?]?)",
    re.IGNORECASE,
)
NAMED = 5
SHARE = 0.9
LOOKED_AT = 300


def cell(x: object) -> tuple[float | None, float | None, int | None]:
    """Value, the number after ±, and n of one cell."""
    if not isinstance(x, str):
        return number(x), None, None
    text = bare(x)
    if m := COUNTS.match(text):
        return number(m[1]), None, int(m[3])
    if m := PM.match(text) or BRACKETS.match(text):
        return number(m[1]), number(m[2]), None
    return number(text), None, None


def bare(text: str) -> str:
    """Without what only makes it bold."""
    return text.strip().strip("*_").strip()


def unmeasured(x: object) -> bool:
    """Whether a cell says itself that there is no number."""
    if isinstance(x, str):
        return bare(x).lower() in EMPTY
    return x is None or (isinstance(x, float) and math.isnan(x))


def numeric(table: Sequence[Row], names: Sequence[str], directed: Collection[str] = ()) -> list[str]:
    """The columns that hold numbers. Some cells that are none do not make a text of a metric's column, nor of another's
    where they were meant as numbers."""
    out = []
    for n in names:
        filled = [x for row in table[:LOOKED_AT] if not unmeasured(x := row.get(n))]
        bad = [x for x in filled if cell(x)[0] is None]
        if not filled or len(bad) == len(filled):
            continue
        metric = n in directed or higher_is_better(n) is not None
        if len(bad) <= (1 - SHARE) * len(filled) or (2 * len(bad) <= len(filled) and (metric or all(map(_meant, bad)))):
            out.append(n)
    return out


def _meant(x: object) -> bool:
    """Whether a cell that is no number was to be one."""
    return isinstance(x, (int, float)) or (isinstance(x, str) and MEANT.fullmatch(bare(x)[:64]) is not None)


def place(source: Source, i: int) -> str:
    """Where the row with this index stands, as a person finds it."""
    lines = source.row_lines
    return f"{source.name}:{lines[i]}" if i < len(lines) else f"{source.name}, row {i + 1}"


def pointer(source: Source, i: int, column: str) -> str:
    """The cell, as `package verify` follows it."""
    lines = source.row_lines
    return f"line {lines[i]}: {column}" if i < len(lines) else f"row {i + 1}, {column}"


def reason(source: Source, i: int, x: object) -> str:
    """Why a cell stays unfilled."""
    where = place(source, i)
    if unmeasured(x):
        blank = x is None or (isinstance(x, str) and not x.strip())
        return f"nothing was measured: {where} {'is empty' if blank else f'says {_shown(x)}'}"
    return f"{where} says {_shown(x)}, which is no number"


def faults(source: Source, columns: Sequence[str]) -> list[Issue]:
    """Cells that are no numbers, in columns of numbers: the first ones by name, the rest counted."""
    found = [
        (i, c, x)
        for i, row in enumerate(source.table)
        for c in columns
        if not unmeasured(x := row.get(c)) and cell(x)[0] is None
    ]
    says = [
        (c, f"{place(source, i)}, {c}: {_shown(x)} is no number, so the cell stays unfilled")
        for i, c, x in found[:NAMED]
    ]
    more = len(found) - NAMED
    if more > 0:
        says.append(("", f"{source.name}: {more} more {'cells are no numbers and stay' if more > 1 else 'cell is no number and stays'} unfilled"))  # fmt: skip
    return [Issue(says=s, file=str(source.path), code="no-number", column=c) for c, s in says]


def _shown(x: object) -> str:
    return repr(x[:40]) if isinstance(x, str) else str(x)[:40]
