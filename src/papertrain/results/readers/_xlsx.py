"""The first sheet of an Excel file as rows of text, read as what it is: a zip of XML. No macros, formulas or links are followed."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from xml.etree import ElementTree

from papertrain.core.errors import PapertrainError

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
LARGEST = 512 * 2**20
MOST_CELLS = 20_000_000
MOST_COLUMNS = 2_000


def rows(path: Path) -> list[list[str]]:
    """Cells by row, empty ones as empty text. Raises PapertrainError where it is no workbook."""
    try:
        with zipfile.ZipFile(path) as book:
            names = set(book.namelist())
            sheets = sorted(
                (n for n in names if re.fullmatch(r"xl/worksheets/sheet\d+\.xml", n)),
                key=lambda n: int(re.findall(r"\d+", n)[-1]),
            )
            if not sheets:
                raise PapertrainError("no sheet in this workbook", code="bad-xlsx", file=path)
            if sum(book.getinfo(n).file_size for n in (sheets[0], "xl/sharedStrings.xml") if n in names) > LARGEST:
                raise PapertrainError(f"more than {LARGEST >> 20} MiB of cells", code="too-large", file=path)
            shared = _shared(book.read("xl/sharedStrings.xml")) if "xl/sharedStrings.xml" in names else []
            return _rows(book.read(sheets[0]), shared)
    except (
        zipfile.BadZipFile,
        ElementTree.ParseError,
        KeyError,
        ValueError,
        OSError,
        EOFError,
        NotImplementedError,
        RuntimeError,
    ) as error:
        raise PapertrainError(
            f"not a readable xlsx file: {str(error).splitlines()[0][:100] if str(error) else type(error).__name__}",
            code="bad-xlsx",
            file=path,
        ) from None


def _parsed(data: bytes) -> ElementTree.Element:
    if b"<!DOCTYPE" in data[:4096] or b"<!ENTITY" in data:
        raise ValueError("it declares entities")
    return ElementTree.fromstring(data)


def _shared(data: bytes) -> list[str]:
    return ["".join(t.text or "" for t in item.iter(f"{MAIN}t")) for item in _parsed(data).findall(f"{MAIN}si")]


def _rows(data: bytes, shared: list[str]) -> list[list[str]]:
    out: list[list[str]] = []
    cells = 0
    for row in _parsed(data).iter(f"{MAIN}row"):
        line: list[str] = []
        for c in row.findall(f"{MAIN}c"):
            at = _column(c.get("r", "")) if c.get("r") else len(line)
            if at >= MOST_COLUMNS:
                continue
            line += [""] * (at - len(line))
            line[at:] = [_text(c, shared)]
        cells += len(line)
        if cells > MOST_CELLS:
            raise ValueError("too many cells")
        out.append(line)
    return out


def _column(place: str) -> int:
    """`C7` → 2."""
    n = 0
    for c in place:
        if not c.isalpha():
            break
        n = n * 26 + ord(c.upper()) - 64
        if n > MOST_COLUMNS:
            break
    return max(n - 1, 0)


def _text(c: ElementTree.Element, shared: list[str]) -> str:
    kind, value = c.get("t", "n"), c.find(f"{MAIN}v")
    if kind == "inlineStr":
        return "".join(t.text or "" for t in c.iter(f"{MAIN}t"))
    text = value.text or "" if value is not None else ""
    if kind == "s":
        return shared[int(text)] if text.isdigit() and int(text) < len(shared) else ""
    if kind == "b":
        return {"1": "True", "0": "False"}.get(text, text)
    return "" if kind == "e" else text
