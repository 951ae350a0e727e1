"""Files of rows → rows, one at a time, whatever they are wrapped in. Nothing is held but the row at hand.

What a file is, is read from its first bytes; the name only helps where they do not say (csv, tsv, txt). A file that is no
rows at all is one PapertrainError; a row that cannot be read is a `BadLine` with its number.
"""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias, cast

import msgspec

from papertrain.core.errors import PapertrainError
from papertrain.core.files import made_as_read

ROW_LIMIT = 64_000_000
"""The longest row that is read: longer ones are counted as bad."""

_CHUNK = 1 << 20


class BadLine(NamedTuple):
    says: str


Row: TypeAlias = dict[str, Any]
Rows: TypeAlias = Iterator[tuple[int, Row | BadLine]]


class RowFile(NamedTuple):
    """A file that has been looked at: what it is, and how to go through it."""

    path: Path
    kind: str  # jsonl, json, csv, tsv, text, parquet, arrow
    wrapped: str  # "", gz, bz2, xz, zst
    position: Callable[[], int]
    rows: Rows


def open_rows(path: Path) -> RowFile:
    """The rows of one file. Raises PapertrainError where it holds no rows: missing, empty, binary, UTF-16."""
    try:
        if not path.is_file() or made_as_read(path):
            raise PapertrainError("is not a file" if path.exists() else "no such file", code="missing-file", file=path)
        raw = path.open("rb")
        start = raw.read(8)
    except OSError as e:
        raise PapertrainError(
            f"cannot be read: {e.strerror or type(e).__name__}", code="unreadable", file=path
        ) from None
    if not start:
        raise PapertrainError("is empty", code="empty-file", file=path)
    raw.seek(0)
    wrapped = _wrapping(start)
    stream = _unwrap(raw, wrapped, path)
    head = _head(stream, path)
    name = path.name.removesuffix(f".{wrapped}").lower() if wrapped else path.name.lower()
    kind = _kind(head, name, path)
    if kind in ("parquet", "arrow"):
        if wrapped:
            raise PapertrainError(f"is {kind} inside {wrapped}: unpack it first", code="bad-data", file=path)
        raw.close()
        return RowFile(path, kind, "", lambda: 0, _columns(path, kind))
    whole = _Rejoined(head, stream)
    reader = {"jsonl": _jsonl, "json": _json_array, "object": _json_object, "text": _text}.get(kind)
    rows = reader(whole, path) if reader else _csv(whole, path, "\t" if kind == "tsv" else _delimiter(head))
    return RowFile(path, "json" if kind == "object" else kind, wrapped, raw.tell, _guarded(rows, path))


def _guarded(rows: Rows, path: Path) -> Rows:
    """A compressed file that ends early is an error of the file, not of ours."""
    try:
        yield from rows
    except (EOFError, OSError, ValueError) as e:
        raise PapertrainError(f"is damaged: {type(e).__name__}: {str(e)[:80]}", code="damaged", file=path) from None


def _wrapping(start: bytes) -> str:
    if start[:2] == b"\x1f\x8b":
        return "gz"
    if start[:4] == b"\x28\xb5\x2f\xfd":
        return "zst"
    if start[:3] == b"BZh":
        return "bz2"
    return "xz" if start[:6] == b"\xfd7zXZ\x00" else ""


def _unwrap(raw: IO[bytes], wrapped: str, path: Path) -> IO[bytes]:
    if wrapped == "gz":
        import gzip

        unpacked: Any = gzip.GzipFile(fileobj=raw)
        return cast(IO[bytes], unpacked)
    if wrapped == "bz2":
        import bz2

        return bz2.BZ2File(raw)
    if wrapped == "xz":
        import lzma

        return lzma.LZMAFile(raw)
    if wrapped == "zst":
        try:
            import zstandard
        except ImportError:
            raise PapertrainError(
                "is zst, which needs an extra: pip install 'papertrain[data]'", code="missing-extra", file=path
            ) from None
        reader: IO[bytes] = io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(raw), _CHUNK)
        return reader
    return raw


def _head(stream: IO[bytes], path: Path) -> bytes:
    try:
        return stream.read(1 << 16)
    except (OSError, EOFError, ValueError) as e:
        raise PapertrainError(f"is damaged: {type(e).__name__}", code="damaged", file=path) from None
    except Exception as e:
        if type(e).__name__ in ("ZstdError", "LZMAError"):
            raise PapertrainError(f"is damaged: {type(e).__name__}", code="damaged", file=path) from None
        raise


def _kind(head: bytes, name: str, path: Path) -> str:
    if head[:4] == b"PAR1":
        return "parquet"
    if head[:6] == b"ARROW1" or (head[:4] == b"\xff\xff\xff\xff" and name.endswith(".arrow")):
        return "arrow"
    if head[:2] in (b"\xff\xfe", b"\xfe\xff") or _looks_utf16(head):
        raise PapertrainError(
            "is UTF-16; write it as UTF-8: iconv -f UTF-16 -t UTF-8", code="utf-16", file=path, line=1
        )
    text = head.removeprefix(b"\xef\xbb\xbf")
    if coding := _other_coding(text):
        raise PapertrainError(
            f"is not UTF-8 (its bytes look like {coding}); write it as UTF-8: iconv -f {coding} -t UTF-8", code="not-utf-8", file=path, line=text.count(b"\n", 0, _first_bad(text)) + 1,
        )  # fmt: skip
    if not text.strip():
        raise PapertrainError("is empty", code="empty-file", file=path)
    if b"\0" in text or sum(b < 9 or 13 < b < 27 for b in text[:4096]) > 0.02 * len(text[:4096]):
        raise PapertrainError("is binary, not text with rows", code="binary", file=path)
    first = text.lstrip()[:1]
    if first == b"[" and not name.endswith((".csv", ".tsv", ".txt")):
        return "json"
    if first == b"{" and not name.endswith((".csv", ".tsv", ".txt")):
        line = text.lstrip().split(b"\n", 1)[0].rstrip()
        return "jsonl" if name.endswith((".jsonl", ".ndjson")) or (line.endswith(b"}") and _parses(line)) else "object"
    for end, kind in (
        (".csv", "csv"),
        (".tsv", "tsv"),
        (".tab", "tsv"),
        (".txt", "text"),
        (".text", "text"),
        (".md", "text"),
        (".jsonl", "jsonl"),
        (".json", "jsonl"),
    ):
        if name.endswith(end):
            return kind
    raise PapertrainError(
        "is none of jsonl, json, csv, tsv, txt, parquet, arrow (also gz, bz2, xz, zst)",
        code="unknown-format",
        file=path,
        ask=["a file whose name says what it is"],
    )


def _looks_utf16(head: bytes) -> bool:
    """ASCII written as UTF-16 without a mark has a zero in every second byte."""
    part = head[:2000]
    return len(part) > 20 and (part[1::2].count(0) > 0.4 * len(part) or part[0::2].count(0) > 0.4 * len(part))


def _first_bad(text: bytes) -> int:
    try:
        text.decode()
    except UnicodeDecodeError as e:
        return e.start
    return len(text)


def _other_coding(text: bytes) -> str:
    """The coding of a text that is mostly not UTF-8; "" for UTF-8, broken bytes here and there included.

    Read as if it were, letters become replacement characters, and two labels one.
    """
    if text.isascii() or b"\0" in text:
        return ""
    told = text.decode("utf-8", "replace")
    wrong = told.count("\ufffd") - text.count(b"\xef\xbf\xbd")
    if wrong < 3 or wrong < 0.2 * sum(c > "\x7f" for c in told):
        return ""
    runs = re.findall(rb"[\x80-\xff]+", text)
    if sum(len(r) for r in runs if len(r) > 1) < 0.7 * sum(map(len, runs)):
        return "WINDOWS-1252"  # accents stand alone between letters; characters of two bytes stand together
    return max(("GB18030", "BIG5"), key=lambda c: sum(x in _FREQUENT for x in text.decode(c, "ignore")))


_FREQUENT = frozenset("的一是不了在人有我他大来上中到说们国和地要来個們國說為這好差")
"""Among the most frequent characters of Chinese, in both scripts: one coding read as the other shows few of them."""


def _parses(line: bytes) -> bool:
    try:
        msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


class _Rejoined(io.RawIOBase):
    """The head that was looked at, then the rest."""

    def __init__(self, head: bytes, rest: IO[bytes]) -> None:
        self.head, self.rest = head.removeprefix(b"\xef\xbb\xbf"), rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self.head:
            n = min(len(buffer), len(self.head))
            buffer[:n], self.head = self.head[:n], self.head[n:]
            return n
        data = self.rest.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _lines(stream: io.RawIOBase) -> Iterator[tuple[int, bytes | BadLine]]:
    """Lines with their number. One that is too long is skipped without being held."""
    buffered = io.BufferedReader(stream, _CHUNK)
    number = 0
    while True:
        line = buffered.readline(ROW_LIMIT + 1)
        if not line:
            return
        number += 1
        if len(line) > ROW_LIMIT:
            while line and not line.endswith(b"\n"):
                line = buffered.readline(_CHUNK)
            yield number, BadLine(f"longer than {ROW_LIMIT // 10**6} MB")
            continue
        yield number, line


def _jsonl(stream: io.RawIOBase, path: Path) -> Rows:
    decode = msgspec.json.Decoder().decode
    for number, line in _lines(stream):
        if isinstance(line, BadLine):
            yield number, line
            continue
        if not line.strip():
            continue
        try:
            row = decode(line)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as e:
            yield number, BadLine(f"not JSON: {_short(e)}")
            continue
        yield number, row if isinstance(row, dict) else BadLine("not an object")


def _short(e: Exception) -> str:
    return re.sub(r"\s+", " ", str(e))[:80] or type(e).__name__


def _json_array(stream: io.RawIOBase, path: Path) -> Rows:
    """One array of rows, element by element. `line` is where the element starts."""
    text = io.TextIOWrapper(io.BufferedReader(stream, _CHUNK), encoding="utf-8", errors="replace", newline="")
    decoder = json.JSONDecoder()
    buffer, line, ended = text.read(_CHUNK), 1, False
    at = buffer.index("[") + 1
    while True:
        start = _SPACE.match(buffer, at).end()  # type: ignore[union-attr]
        line += buffer.count("\n", at, start)
        at = start
        if buffer.startswith("]", at):
            return
        found = _element(decoder, buffer, at)
        if found is None and not ended and len(buffer) - at <= ROW_LIMIT:
            # Doubling keeps a long element from being parsed again and again.
            more = text.read(max(_CHUNK, len(buffer) - at))
            ended = not more
            buffer, at = buffer[at:] + more, 0
            continue
        if found is None:
            if buffer[at:].strip():
                yield (
                    line,
                    BadLine(
                        "not JSON, or the array breaks off here" if ended else f"longer than {ROW_LIMIT // 10**6} MB"
                    ),
                )
            else:
                yield line, BadLine("the array is not closed")
            return
        value, end = found
        yield line, value if isinstance(value, dict) else BadLine("not an object")
        line += buffer.count("\n", at, end)
        at = end


_SPACE = re.compile(r"[ \t\r\n,]*")


def _element(decoder: json.JSONDecoder, buffer: str, at: int) -> tuple[Any, int] | None:
    """The value at that place and where it ends, or None while it is not complete."""
    if at >= len(buffer):
        return None
    try:
        value, end = decoder.raw_decode(buffer, at)
    except (ValueError, RecursionError):
        return None
    # A number or word that touches the end may go on in the next chunk.
    return (value, end) if isinstance(value, (dict, list, str)) or end < len(buffer) else None


def _json_object(stream: io.RawIOBase, path: Path) -> Rows:
    """`{"data": [...]}`: the only list of rows in it. It is held whole, so it may not be large."""
    raw = io.BufferedReader(stream, _CHUNK).read(ROW_LIMIT + 1)
    if len(raw) > ROW_LIMIT:
        raise PapertrainError("is one JSON object; write the rows one a line (jsonl)", code="too-large", file=path)
    try:
        value = json.loads(raw)
    except ValueError as e:
        at = getattr(e, "lineno", 1)
        raise PapertrainError(
            f"is not JSON: {getattr(e, 'msg', _short(e))}", code="bad-json", file=path, line=at
        ) from None
    except RecursionError:
        raise PapertrainError("is nested too deeply", code="bad-json", file=path) from None
    lists = (
        [v for v in value.values() if isinstance(v, list) and v and isinstance(v[0], dict)]
        if isinstance(value, dict)
        else []
    )
    rows = lists[0] if len(lists) == 1 else [value]
    for number, row in enumerate(rows, 1):
        yield number, row if isinstance(row, dict) else BadLine("not an object")


def _delimiter(head: bytes) -> str:
    line = head.split(b"\n", 1)[0]
    return max((",", ";", "\t", "|"), key=lambda d: line.count(d.encode()))


def _csv(stream: io.RawIOBase, path: Path, delimiter: str) -> Rows:
    csv.field_size_limit(min(sys.maxsize, ROW_LIMIT))
    text = io.TextIOWrapper(io.BufferedReader(stream, _CHUNK), encoding="utf-8", errors="replace", newline="")
    reader = csv.reader(text, delimiter=delimiter)
    try:
        names = [n.strip() for n in next(reader)]
    except (StopIteration, csv.Error) as e:
        raise PapertrainError(f"has no header row: {_short(e)}", code="bad-data", file=path, line=1) from None
    if len(set(names)) != len(names):
        raise PapertrainError("has two columns of one name in its header", code="bad-data", file=path, line=1)
    while True:
        number = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as e:
            yield number, BadLine(f"not csv: {_short(e)}")
            continue
        if not cells:
            continue
        yield (
            number,
            dict(zip(names, cells))
            if len(cells) == len(names)
            else BadLine(f"{len(cells)} cells where the header has {len(names)}"),
        )


def _text(stream: io.RawIOBase, path: Path) -> Rows:
    for number, line in _lines(stream):
        if isinstance(line, BadLine):
            yield number, line
        elif line.strip():
            yield number, {"text": line.decode("utf-8", "replace").rstrip("\r\n")}


def _columns(path: Path, kind: str) -> Rows:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise PapertrainError(
            f"is {kind}, which needs an extra: pip install 'papertrain[data]'", code="missing-extra", file=path
        ) from None
    try:
        number = 0
        for batch in (
            pq.ParquetFile(path).iter_batches(batch_size=512) if kind == "parquet" else _record_batches(pa, path)
        ):
            for row in batch.to_pylist():
                number += 1
                yield number, row
    except (pa.ArrowException, OSError) as e:
        raise PapertrainError(f"is damaged: {_short(e)}", code="damaged", file=path) from None


def _record_batches(pa: Any, path: Path) -> Iterator[Any]:
    source = pa.memory_map(str(path))
    try:
        reader = pa.ipc.open_file(source)
    except pa.ArrowInvalid:
        # `datasets` writes the streaming form.
        reader = pa.ipc.open_stream(source)
        yield from reader
        return
    for i in range(reader.num_record_batches):
        yield reader.get_batch(i)
