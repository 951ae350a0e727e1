"""What a log reader is, and how a file is followed while it grows."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Literal, Protocol

from papertrain.core.files import blocks
from papertrain.core.values import Value
from papertrain.monitor.table import Table

CHUNK = 1 << 20
LONGEST_LINE = 1 << 20
"""Longer lines are no log lines: they are counted and passed over, so that one line of a gigabyte costs no memory."""
LARGEST_DOCUMENT = 1 << 29

LineParser = Callable[[str, int], None]
ByteParser = Callable[[bytes, bool], int]


class Reader(Value, frozen=True, kw_only=True):
    """How one program's records are recognised and read.

    sniff: the head of the file (for text, its tail too) and its path → confidence, 0 to 1; by content, not by name.
    start: a fresh parser that fills the table. For `lines` it is called with every line and its number; for `bytes`
    with what is new and whether the file ends there, and says how much it has used; for `whole` with the path.
    needles: every line that matters holds one of these; the others are then not even decoded.
    longest: a longer line is passed over: patterns must never have much to search in.
    last: asked only where no other reader knows the file.
    """

    id: str
    sniff: Callable[[bytes, Path], float]
    start: Callable[[Table], LineParser] | Callable[[Table], ByteParser] | Callable[[Table], Callable[[Path], None]]
    kind: Literal["lines", "bytes", "whole"] = "lines"
    what: str = ""
    telemetry: bool = False
    needles: tuple[bytes, ...] = ()
    longest: int = 16_384
    last: bool = False


class Feed(Protocol):
    """A file that is followed. `poll` reads what is new; `final` also uses a last line without line end."""

    table: Table

    def poll(self, final: bool = True) -> int: ...


class Tail:
    """What changed in a file since the last look: growth, truncation, replacement."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.offset = 0
        self.inode = 0
        self.mtime = 0

    def begins_again(self) -> bool:
        """True when the file is not the one that was read so far."""
        s = self.path.stat()
        again = self.inode != 0 and (s.st_ino != self.inode or s.st_size < self.offset)
        if again:
            self.offset = 0
        self.inode, self.mtime = s.st_ino, s.st_mtime_ns
        return again

    def open(self) -> BinaryIO:
        f = self.path.open("rb")
        f.seek(self.offset)
        return f


class LineFeed:
    """Follows a text file line by line. tqdm's carriage returns end a line too."""

    def __init__(self, path: Path, reader: Reader, table: Table) -> None:
        self.table = table
        self.reader = reader
        self.tail = Tail(path)
        self.reset()

    def reset(self) -> None:
        self.table.clear()
        self.parse: LineParser = self.reader.start(self.table)  # type: ignore[assignment]
        self.rest = b""
        self.number = 0
        self.overlong = False
        self.encoding: str | None = None
        needles = self.reader.needles
        self.needle = re.compile(b"|".join(map(re.escape, needles))) if needles else None

    def poll(self, final: bool = True) -> int:
        if self.tail.begins_again():
            self.reset()
        new = 0
        with self.tail.open() as f:
            for chunk in blocks(f, CHUNK):
                new += len(chunk)
                self.tail.offset += len(chunk)
                self.take(chunk)
        if final and self.rest and not self.overlong:
            self.lines(self.rest)
            self.rest = b""
        if final and self.overlong:
            self.table.skip(self.number + 1, "line longer than 1 MiB")
        self.table.lines = self.number
        if final:
            self.table.finish()
        return new

    def take(self, chunk: bytes) -> None:
        if self.encoding is None:
            self.encoding = encoding_of(chunk)
            self.decoder = codecs.getincrementaldecoder(self.encoding)("replace")
        if self.encoding.startswith("utf-16"):
            chunk = self.decoder.decode(chunk).encode("utf-8", "replace")
        if b"\0" in chunk:
            # The hole that a writer leaves when its file was truncated under it (logrotate's copytruncate).
            chunk = chunk.translate(None, b"\0")
        data = self.rest + chunk
        cut = data.rfind(b"\n") + 1
        if cut == 0:
            if len(data) > LONGEST_LINE:
                self.overlong, data = True, b""
            self.rest = data
            return
        body, self.rest = data[:cut], data[cut:]
        if self.overlong:
            end = body.find(b"\n") + 1
            self.number += 1
            self.table.skip(self.number, "line longer than 1 MiB")
            body, self.overlong = body[end:], False
        if len(self.rest) > LONGEST_LINE:
            self.rest, self.overlong = b"", True
        self.lines(body)

    def take_line(self, piece: str, number: int) -> None:
        if len(piece) > self.reader.longest:
            self.table.skip(number, f"line longer than {self.reader.longest:,} characters")
            return
        try:
            self.parse(piece, number)
        except (ValueError, OverflowError, ArithmeticError):
            self.table.skip(number, "a number that no run has")

    def lines(self, body: bytes) -> None:
        if self.needle is not None:
            self.sparse(body)
            return
        text = body.decode("utf-8-sig" if self.number == 0 else "utf-8", "replace")
        parse, number = self.take_line, self.number
        if text.endswith("\n"):
            text = text[:-1]
        for line in text.split("\n"):
            number += 1
            if "\r" in line:
                for piece in line.split("\r"):
                    if piece:
                        parse(piece, number)
            elif line:
                parse(line, number)
        self.number = number

    def sparse(self, body: bytes) -> None:
        """Only the lines with a needle in them."""
        assert self.needle is not None
        parse, counted, done = self.take_line, 0, -1
        number = self.number
        for hit in self.needle.finditer(body):
            if hit.start() < done:
                continue
            begin = body.rfind(b"\n", 0, hit.start()) + 1
            done = body.find(b"\n", hit.end())
            done = len(body) if done < 0 else done
            number += body.count(b"\n", counted, begin)
            counted = begin
            for piece in body[begin:done].decode("utf-8", "replace").split("\r"):
                if piece:
                    parse(piece, number + 1)
        self.number += body.count(b"\n") + (not body.endswith(b"\n"))


class ByteFeed:
    """Follows a file of binary records; what is not yet whole is looked at again next time."""

    def __init__(self, path: Path, reader: Reader, table: Table) -> None:
        self.table = table
        self.reader = reader
        self.tail = Tail(path)
        self.reset()

    def reset(self) -> None:
        self.table.clear()
        self.parse: ByteParser = self.reader.start(self.table)  # type: ignore[assignment]
        self.rest = b""

    def poll(self, final: bool = True) -> int:
        if self.tail.begins_again():
            self.reset()
        new = 0
        with self.tail.open() as f:
            for chunk in blocks(f, 8 * CHUNK):
                new += len(chunk)
                self.tail.offset += len(chunk)
                data = self.rest + chunk
                self.rest = data[self.parse(data, False) :]
        if final:
            self.parse(self.rest, True)
            self.table.finish()
        return new


class WholeFeed:
    """Reads a document, a database or a folder again whenever it has changed."""

    def __init__(self, path: Path, reader: Reader, table: Table) -> None:
        self.table = table
        self.reader = reader
        self.path = path
        self.seen: tuple[int, int, int] | None = None

    def poll(self, final: bool = True) -> int:
        s = self.path.stat()
        now = (s.st_ino, s.st_size, s.st_mtime_ns)
        wal = self.path.with_name(self.path.name + "-wal")
        if wal.exists():
            now = (now[0], now[1] + wal.stat().st_size, max(now[2], wal.stat().st_mtime_ns))
        if now == self.seen and not self.path.is_dir():
            return 0
        self.seen = now
        self.table.clear()
        read: Callable[[Path], None] = self.reader.start(self.table)  # type: ignore[assignment]
        read(self.path)
        self.table.finish()
        return s.st_size


def encoding_of(head: bytes) -> str:
    """UTF-8, unless a byte order mark says UTF-16 (PowerShell's `Tee-Object` writes such logs)."""
    return "utf-16" if head[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"


def follow(path: Path, reader: Reader) -> Feed:
    """The feed that fits the reader."""
    kinds: dict[str, type[LineFeed] | type[ByteFeed] | type[WholeFeed]]
    kinds = {"lines": LineFeed, "bytes": ByteFeed, "whole": WholeFeed}
    return kinds[reader.kind](path, reader, Table(str(path), reader.id))
