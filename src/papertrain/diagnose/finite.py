"""Values in the training data that are not finite: the rows that hold them, and the file without these rows."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from papertrain.core.values import Value
from papertrain.diagnose.case import Case
from papertrain.diagnose.rows import is_table, listed, table, without

WORDS = frozenset({"nan", "inf", "-inf", "+inf", "infinity", "-infinity"})
MOST = 50 * 2**20


class BadValues(Value, frozen=True, kw_only=True):
    """`lines`: first lines of the rows to drop, 1-based; `columns`: where they hold it."""

    file: str
    lines: tuple[int, ...]
    columns: tuple[str, ...]
    rows: int
    after: str

    def says(self) -> str:
        return f"{len(self.lines)} of {self.rows} rows hold a value that is not finite in {', '.join(self.columns[:3])}: lines {listed(self.lines)}"


def find(case: Case) -> BadValues | None:
    """The first data file of the case with such rows; remembered for the case."""
    if "not-finite" not in case.memo:
        case.memo["not-finite"] = next((b for name, text in case.data if (b := bad_rows(name, text)) is not None), None)
    found: BadValues | None = case.memo["not-finite"]
    return found


def bad_rows(name: str, text: str) -> BadValues | None:
    if len(text) > MOST:
        return None
    drop: list[tuple[int, int]] = []
    columns: dict[str, None] = {}
    rows = 0
    for first, last, bad in rows_of(name, text):
        rows += 1
        if bad:
            drop.append((first, last))
            columns |= dict.fromkeys(bad)
    if not drop or len(drop) == rows:
        return None
    lines = tuple(a for a, _ in drop)
    return BadValues(file=name, lines=lines, columns=tuple(columns), rows=rows, after=without(text, drop))


def rows_of(name: str, text: str) -> Iterator[tuple[int, int, list[str]]]:
    """(first line, last line, columns that are not finite) of each row of a JSONL, CSV or TSV text."""
    if is_table(name):
        yield from _table(name, text)
        return
    for i, line in enumerate(text.splitlines(), 1):
        if not line.lstrip().startswith("{"):
            continue
        if "NaN" not in line and "nfinity" not in line:
            yield i, i, []
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        yield i, i, [str(k) for k, v in row.items() if not_finite(v)]


def _table(name: str, text: str) -> Iterator[tuple[int, int, list[str]]]:
    """A cell `nan` counts only in a column whose other cells are numbers: elsewhere it is a word."""
    rows = list(table(name, text))
    head = rows[0][2] if rows else []
    numeric = [i for i in range(len(head)) if _numbers(row[i] for _, _, row in rows[1:200] if i < len(row))]
    for first, last, cells in rows[1:]:
        yield first, last, [head[i] for i in numeric if i < len(cells) and cells[i].strip().lower() in WORDS]


def _numbers(cells: Iterator[str]) -> bool:
    found = [c.strip() for c in cells if c.strip()]
    plain = [c for c in found if c.lower() not in WORDS]
    return bool(plain) and all(_is_number(c) for c in plain)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def not_finite(value: Any) -> bool:
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, list):
        return any(not_finite(v) for v in value[:100_000])
    if isinstance(value, dict):
        return any(not_finite(v) for v in value.values())
    return False
