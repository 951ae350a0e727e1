"""How many rows a data file holds, counted without decoding them."""

from __future__ import annotations

import csv
import json
from itertools import islice
from pathlib import Path

from papertrain.core.errors import PapertrainError
from papertrain.core.files import blocks, read_text
from papertrain.core.values import Value

LIMIT = 512 * 2**20
ROWS_READ = 20


class RowFault(Value, frozen=True, kw_only=True):
    """One kind of bad row: damaged, unfit, left out, order, empty, duplicate or same (a pair of equal answers), and its first line."""

    kind: str
    says: str
    line: int
    count: int
    rows: int


class SharedRows(Value, frozen=True, kw_only=True):
    """How many of a test file's rows stand in the training file too, and where the first of them stands in each."""

    rows: int
    both: int
    line: int
    train_line: int


def count_rows(path: Path) -> int | None:
    """Rows of .jsonl, .json (a list), .csv, .tsv, .txt; None for others, for more than 512 MiB, and for broken files."""
    suffix = path.suffix.lower()
    try:
        if path.stat().st_size > LIMIT:
            return None
        if suffix == ".jsonl" or (suffix == ".json" and not _is_list(path)):
            return _lines(path)
        if suffix == ".txt":
            return _lines(path)
        if suffix == ".json":
            value = json.loads(read_text(path, limit=LIMIT))
            return len(value) if isinstance(value, list) else None
        if suffix in (".csv", ".tsv"):
            with path.open(newline="", encoding="utf-8-sig", errors="replace") as f:
                return max(sum(1 for row in csv.reader(f, delimiter="\t" if suffix == ".tsv" else ",") if row) - 1, 0)
    except (PapertrainError, OSError, ValueError, csv.Error, RecursionError, MemoryError):
        return None
    return None


def _is_list(path: Path) -> bool:
    with path.open("rb") as f:
        return f.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"["


def _lines(path: Path) -> int:
    """Lines that are not blank; a last line without its line break counts."""
    count, rest = 0, b""
    with path.open("rb") as f:
        for piece in blocks(f):
            lines = (rest + piece).split(b"\n")
            rest = lines.pop()
            count += sum(1 for line in lines if line.strip())
    return count + bool(rest.strip())


def first_columns(path: Path) -> set[str]:
    """The keys of the first rows; nothing for forms that are not read here."""
    suffix = path.suffix.lower()
    try:
        if suffix == ".csv":
            with path.open(newline="", encoding="utf-8-sig", errors="replace") as f:
                return set(next(csv.reader(f), []))
        if suffix == ".json" and path.stat().st_size < 32 * 2**20:
            value = json.loads(read_text(path, limit=LIMIT))
            rows = value[:ROWS_READ] if isinstance(value, list) else []
            return {k for row in rows if isinstance(row, dict) for k in row}
        if suffix == ".jsonl":
            with path.open(encoding="utf-8-sig", errors="replace") as f:
                found = [json.loads(line) for line in islice(f, ROWS_READ) if line.strip()]
            return {k for row in found if isinstance(row, dict) for k in row}
    except (PapertrainError, OSError, ValueError, RecursionError, csv.Error):
        return set()
    return set()
