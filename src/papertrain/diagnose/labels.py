"""Labels that no class has: the rows of a data file that hold them, and the file without these rows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from papertrain.core.values import Value
from papertrain.diagnose.case import Case
from papertrain.diagnose.rows import is_table, listed, table, without

COLUMNS = ("label", "labels", "target", "class", "y")


class BadLabels(Value, frozen=True, kw_only=True):
    """`lines`: first lines of the rows to drop, 1-based. `classes` is None where only the offending value is known."""

    file: str
    lines: tuple[int, ...]
    values: tuple[int, ...]
    rows: int
    classes: int | None
    after: str

    def says(self) -> str:
        allowed = f"0 to {self.classes - 1}" if self.classes else "the model's classes"
        return f"{len(self.lines)} of {self.rows} rows have a label outside {allowed} ({', '.join(map(str, self.values[:4]))}): lines {listed(self.lines)}"


def find(case: Case) -> BadLabels | None:
    """The first data file of the case with labels out of range; None where no file or no bound is known."""
    classes = case.facts.number("num_labels") or len(case.facts.get("labels") or ()) or None
    told = case.search(r"Target (-?\d+) is out of bounds", "Target")
    if not classes and told is None:
        return None
    least = int(told[1]) if told and not classes else None
    for name, text in case.data:
        found = bad_rows(name, text, int(classes) if classes else None, least)
        if found is not None:
            return found
    return None


def bad_rows(name: str, text: str, classes: int | None, least: int | None = None) -> BadLabels | None:
    """Rows whose label is negative (-100 aside), beyond the classes, or from the value on that the error names."""
    drop: list[tuple[int, int]] = []
    values: list[int] = []
    rows = 0
    for first, last, label in labels_of(name, text):
        rows += 1
        number = _integer(label)
        if number is None or number == -100:
            continue
        if (
            number < 0
            or (classes is not None and number >= classes)
            or (least is not None and least >= 0 and number >= least)
        ):
            drop.append((first, last))
            values.append(number)
    if not drop or len(drop) == rows:
        return None
    return BadLabels(
        file=name,
        lines=tuple(a for a, _ in drop),
        values=tuple(sorted(set(values))),
        rows=rows,
        classes=classes,
        after=without(text, drop),
    )


def labels_of(name: str, text: str) -> Iterator[tuple[int, int, Any]]:
    """(first line, last line, label) of each row of a CSV, TSV or JSONL text."""
    if is_table(name):
        rows = table(name, text)
        names = [c.strip().lower() for _, _, head in islice(rows, 1) for c in head]
        column = next((names.index(c) for c in COLUMNS if c in names), None)
        if column is not None:
            yield from ((first, last, row[column]) for first, last, row in rows if len(row) > column)
        return
    for i, line in enumerate(text.splitlines(), 1):
        if not re.match(r"\s*\{", line):
            continue
        try:
            row_value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        found = next((c for c in COLUMNS if c in row_value), None)
        if found is not None:
            yield i, i, row_value[found]


def _integer(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None
