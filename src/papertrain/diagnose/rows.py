"""The rows of a data file with their lines, and the file without some of them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

Span = tuple[int, int]
"""First and last line of a row, 1-based."""


def is_table(name: str) -> bool:
    return name.endswith((".csv", ".tsv"))


def table(name: str, text: str) -> Iterator[tuple[int, int, list[str]]]:
    """(first line, last line, cells) of each row of a CSV or TSV text, the header first; what is no table ends it."""
    reader = csv.reader(io.StringIO(text), delimiter="\t" if name.endswith(".tsv") else ",")
    before = 0
    try:
        for cells in reader:
            yield before + 1, reader.line_num, cells
            before = reader.line_num
    except csv.Error:
        return


def without(text: str, drop: Iterable[Span]) -> str:
    gone = {i for a, b in drop for i in range(a, b + 1)}
    return "".join(line for i, line in enumerate(text.splitlines(keepends=True), 1) if i not in gone)


def listed(lines: Sequence[int], most: int = 5) -> str:
    """`3, 7, 9`, and how many more."""
    more = f" and {len(lines) - most} more" if len(lines) > most else ""
    return ", ".join(map(str, lines[:most])) + more
