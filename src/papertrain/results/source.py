"""One file to read, opened once: as text, JSON, JSON lines or a table, with limits."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from papertrain.core.errors import PapertrainError
from papertrain.core.files import read_text, regular_file

LIMIT = 512 * 2**20
MAX_CELL = 2**22
BINARY = {".parquet", ".npz", ".npy", ".xlsx"}

Row = dict[str, Any]


class Source:
    """A file of results. `roles` maps our column roles to the names that the user gave with `--columns`."""

    def __init__(self, path: Path, roles: dict[str, str] | None = None) -> None:
        self.path = Path(path)
        self.name = self.path.name
        self.roles = roles or {}
        regular_file(self.path, "results file")

    @cached_property
    def sha256(self) -> str:
        with self.path.open("rb") as f:
            return hashlib.file_digest(f, "sha256").hexdigest()

    @property
    def suffix(self) -> str:
        return self.path.suffix.lower()

    @cached_property
    def text(self) -> str:
        if self.suffix in BINARY:
            return ""
        text = read_text(self.path, limit=LIMIT, what="results file")
        if text.startswith("version https://git-lfs"):
            raise PapertrainError(
                "this is a Git LFS pointer, not the file itself: run `git lfs pull` first",
                code="lfs-pointer",
                file=self.path,
            )
        return text

    @cached_property
    def json(self) -> Any:
        """The document, or None where the text is not one JSON value."""
        head = self.text.lstrip()[:1]
        if head not in ("{", "["):
            return None
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError):
            return None

    @cached_property
    def json_error(self) -> tuple[str, int]:
        """Why the text is no JSON, and the line."""
        try:
            json.loads(self.text)
        except json.JSONDecodeError as error:
            return error.msg, error.lineno
        except (ValueError, RecursionError):
            return "too deeply nested or not JSON", 0
        return "", 0

    @property
    def object(self) -> dict[str, Any]:
        """The document where it is a JSON object, else an empty one."""
        return self.json if isinstance(self.json, dict) else {}

    @cached_property
    def salvaged(self) -> dict[str, Any]:
        """Complete top-level entries of an object whose text breaks off (a dump that hit something it could not write)."""
        text, out = self.text, {}
        decoder = json.JSONDecoder()
        at = text.find("{") + 1
        while at:
            try:
                start = text.index('"', at)
                key, at = decoder.raw_decode(text, start)
                at = text.index(":", at) + 1
                while at < len(text) and text[at].isspace():
                    at += 1
                out[key], at = decoder.raw_decode(text, at)
            except (ValueError, RecursionError):
                break
        return out

    @cached_property
    def lines(self) -> list[Row] | None:
        """JSON lines; None where the first line is no JSON object."""
        if self.suffix in BINARY or self.text.lstrip()[:1] != "{":
            return None
        out: list[Row] = []
        for number, line in enumerate(self.text.splitlines(), 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                if not out:
                    return None
                self.bad_lines.append(number)
                continue
            if isinstance(row, dict):
                out.append(row)
                self._object_lines.append(number)
            else:
                self.bad_lines.append(number)
        return out or None

    @cached_property
    def _object_lines(self) -> list[int]:
        return []

    @cached_property
    def bad_lines(self) -> list[int]:
        return []

    @cached_property
    def header(self) -> list[str]:
        return list(self.table[0]) if self.table else []

    @property
    def grid(self) -> list[list[str]]:
        """Comma, semicolon or tab separated cells, or a Markdown table, header included, without blank rows."""
        return self._numbered[1]

    @property
    def grid_lines(self) -> list[int]:
        """The line of the file in which each row of the grid begins."""
        return self._numbered[0]

    @cached_property
    def row_lines(self) -> list[int]:
        """The line of each row of the table; none where the rows are no lines of text (a JSON list, parquet, a workbook)."""
        if self.suffix in BINARY or isinstance(self.json, list):
            return []
        return self._object_lines if self.json is None and self.lines else self.grid_lines[1:]

    @cached_property
    def _numbered(self) -> tuple[list[int], list[list[str]]]:
        """The lines and the cells of the grid."""
        if self.suffix in BINARY or self.text.lstrip()[:1] in ("{", "["):
            return [], []
        text = self.text.lstrip("\ufeff")
        first = next((line for line in text.splitlines() if line.strip()), "")
        if first.lstrip().startswith("|"):
            cells = [
                (n, [c.strip() for c in line.strip().strip("|").split("|")])
                for n, line in enumerate(text.splitlines(), 1)
                if line.lstrip().startswith("|")
            ]
            kept = [(n, r) for n, r in cells if not all(set(c) <= set("-: ") for c in r)]
            return [n for n, _ in kept], [r for _, r in kept]
        mark = max(",\t;", key=first.count)
        if not first.count(mark):
            return [], []
        csv.field_size_limit(MAX_CELL)
        reader, lines, rows, begins = csv.reader(io.StringIO(text), delimiter=mark), [], [], 1
        try:
            for row in reader:
                if any(c.strip() for c in row):
                    lines.append(begins)
                    rows.append(row)
                begins = reader.line_num + 1
        except csv.Error as error:
            raise PapertrainError(f"this is no readable table: {error}", code="bad-table", file=self.path) from None
        return lines, _decimal_points(rows) if mark == ";" else rows

    @cached_property
    def table(self) -> list[Row]:
        """Rows by column name: CSV, JSON lines, a JSON list of objects, or parquet."""
        if self.suffix == ".parquet":
            return self._parquet()
        if self.suffix == ".npz":
            return self._npz()
        if self.suffix == ".xlsx":
            sheet = self._sheet()
            return self._named(sheet, range(1, len(sheet) + 1))
        if isinstance(self.json, list) and self.json and all(isinstance(r, dict) for r in self.json):
            return self.json
        if self.json is None and self.lines:
            return self.lines
        return self._named(self.grid, self.grid_lines)

    def _sheet(self) -> list[list[str]]:
        from papertrain.results.readers._xlsx import rows

        return [r for r in rows(self.path) if any(c.strip() for c in r)]

    def _named(self, grid: list[list[str]], lines: Sequence[int]) -> list[Row]:
        """Rows by the names in the first one."""
        if len(grid) < 2:
            return []
        header = [h.strip() or f"column {i + 1}" for i, h in enumerate(grid[0])]
        if len(set(header)) < len(header):
            twice = next(h for h in header if header.count(h) > 1)
            raise PapertrainError(
                f"two columns are named {twice!r}", code="duplicate-column", file=self.path, line=lines[0]
            )
        out = []
        for number, row in zip(lines[1:], grid[1:]):
            if len(row) > len(header):
                self.bad_lines.append(number)
            out.append({h: row[i] if i < len(row) else "" for i, h in enumerate(header)})
        return out

    def _parquet(self) -> list[Row]:
        try:
            import pyarrow.parquet as pq
        except ImportError:
            raise PapertrainError(
                "parquet files need pyarrow: pip install 'papertrain[data]'", code="needs-extra", file=self.path
            ) from None
        try:
            return list(pq.read_table(self.path).to_pylist())
        except Exception as error:
            raise PapertrainError(
                f"not a readable parquet file: {str(error).splitlines()[0][:120]}", code="bad-parquet", file=self.path
            ) from None

    def _npz(self) -> list[Row]:
        import numpy as np

        try:
            with np.load(self.path, allow_pickle=False) as data:
                arrays = {k: data[k] for k in data.files}
        except Exception as error:
            raise PapertrainError(
                f"not a readable npz file: {str(error).splitlines()[0][:120]}", code="bad-npz", file=self.path
            ) from None
        n = max((len(a) for a in arrays.values() if a.ndim), default=0)
        columns: dict[str, list[Any]] = {}
        for name, a in arrays.items():
            if a.ndim == 1 and len(a) == n:
                columns[name] = a.tolist()
            elif a.ndim == 2 and len(a) == n:
                columns |= {f"{name}_{j}": a[:, j].tolist() for j in range(a.shape[1])}
        return [{k: v[i] for k, v in columns.items()} for i in range(n)]


DECIMAL_COMMA = re.compile(r"^\s*[+-]?\d+,\d+(?:[eE][+-]?\d+)?\s*%?\s*$")
DECIMAL_POINT = re.compile(r"^\s*[+-]?\d*\.\d+(?:[eE][+-]?\d+)?\s*%?\s*$")


def _decimal_points(rows: list[list[str]]) -> list[list[str]]:
    """Spreadsheets of many countries part cells by semicolons and write 0,91: where no cell has a decimal point, it is one."""
    cells = [c for row in rows[1:] for c in row]
    if any(map(DECIMAL_POINT.match, cells)) or not any(map(DECIMAL_COMMA.match, cells)):
        return rows
    return [rows[0], *([c.replace(",", ".") if DECIMAL_COMMA.match(c) else c for c in row] for row in rows[1:])]


def as_dict(x: Any) -> dict[str, Any]:
    return x if isinstance(x, dict) else {}


def as_list(x: Any) -> list[Any]:
    return x if isinstance(x, list) else []


def no_number(x: Any) -> str:
    """Why a place that holds a score holds none: NaN, an infinity, null; nothing where it holds something else."""
    if x is None:
        return "the file says null"
    if isinstance(x, float) and not math.isfinite(x):
        return f"the file says {'NaN' if math.isnan(x) else 'Infinity' if x > 0 else '-Infinity'}"
    if isinstance(x, int) and not isinstance(x, bool) and number(x) is None:
        return "the file says a number beyond all bounds"
    return ""


THOUSANDS = re.compile(r"[+-]?\d{1,3}(?:(?:,\d{3})+\.\d+|(?:,\d{3}){2,})")
"""`1,234.5`; `1,234` alone may as well be a decimal comma, and is no number."""


def number(x: Any) -> float | None:
    """A finite number from a cell: `83.3`, `1e-5`, `**83.3**`, `83.3 %`; None for text, `-`, empty, NaN and booleans."""
    if isinstance(x, bool) or x is None:
        return None
    if isinstance(x, (int, float)):
        try:
            value = float(x)
        except OverflowError:
            return None
        return value if math.isfinite(value) else None
    if not isinstance(x, str) or len(x) > 64:
        return None
    text = x.strip().strip("*_").strip().removesuffix("%").strip().replace("\u2212", "-")
    if not text or text[-1] not in "0123456789.":
        return None
    if "," in text and THOUSANDS.fullmatch(text):
        text = text.replace(",", "")
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in text else None
