"""One streaming pass: which lines of a log are worth keeping.

A small log is kept whole. Of a large one: the head, the tail, a slice per chunk (for the curve), and the
surroundings of every literal that some rule knows, the first occurrences of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import ahocorasick_rs

from papertrain.core.errors import PapertrainError
from papertrain.core.values import Value
from papertrain.diagnose.sources import looks_binary

WHOLE = 8 << 20
HEAD, TAIL, SLICE = 160 << 10, 512 << 10, 3 << 10
BEFORE, AFTER = 8 << 10, 6 << 10
PER_LITERAL = 40
MOST_KEPT = 12 << 20


class Segment(Value, frozen=True, kw_only=True):
    """Consecutive lines. `first` is the 1-based number of the first one."""

    first: int
    data: bytes


class Scan(Value, frozen=True, kw_only=True):
    """What one pass over a source kept. `counts`: occurrences of each literal in the whole of it."""

    segments: tuple[Segment, ...]
    counts: dict[str, int]
    lines: int
    size: int
    whole: bool


@lru_cache(maxsize=4)
def matcher(literals: tuple[str, ...], large: bool) -> ahocorasick_rs.BytesAhoCorasick:
    """A full automaton takes 20 ms to build and reads a third faster: only a large log pays that back."""
    words = [x.encode() for x in literals]
    return ahocorasick_rs.BytesAhoCorasick(words, implementation=ahocorasick_rs.Implementation.DFA if large else None)


def scan(blocks: Iterable[bytes], literals: Sequence[str], name: str) -> Scan:
    """Reads every block once. Raises PapertrainError for something that is no text."""
    keep = _Keeper(tuple(literals))
    first = True
    for block in blocks:
        if first and looks_binary(block):
            raise PapertrainError(f"{name}: not a text log", code="not-a-log", file=name)
        first = False
        keep.feed(block)
    return keep.end()


class _Keeper:
    """The state of one pass. Positions are byte offsets in the whole source."""

    def __init__(self, literals: tuple[str, ...]) -> None:
        self.literals = literals
        self.found = [0] * len(literals)
        self.small: list[bytes] | None = []
        self.size = self.newlines = self.kept = 0
        self.buf, self.buf_at, self.done = b"", 0, 0
        self.buf_line = 0
        self.parts: list[tuple[int, int, bytes]] = []  # offset, newlines before it, bytes

    def feed(self, block: bytes) -> None:
        self.size += len(block)
        if self.small is not None:
            self.small.append(block)
            if self.size <= WHOLE:
                return
            block = b"".join(self.small)
            self.small = None
            for i in range(0, len(block), 4 << 20):
                self._large(block[i : i + (4 << 20)])
            return
        self._large(block)

    def _large(self, block: bytes, last: bool = False) -> None:
        buf = self.buf + block
        limit = len(buf) if last else max(0, len(buf) - AFTER)
        start = self.done - self.buf_at
        spans = self._spans(buf, start, limit)
        line, at = self.buf_line, 0
        for a, b in spans:
            line += buf.count(b"\n", at, a)
            at = a
            self.parts.append((self.buf_at + a, line, buf[a:b]))
            self.kept += b - a
        self.done = self.buf_at + limit
        cut = max(0, limit - TAIL)
        self.buf_line = line + buf.count(b"\n", at, cut) if cut >= at else self.buf_line + buf.count(b"\n", 0, cut)
        self.buf, self.buf_at = buf[cut:], self.buf_at + cut

    def _spans(self, buf: bytes, start: int, limit: int) -> list[tuple[int, int]]:
        """Merged byte ranges to keep, whole lines, in order."""
        wanted: list[tuple[int, int]] = []
        if self.done < HEAD:
            wanted.append((start, max(start, min(limit, start + HEAD - self.done))))
        elif limit - start > SLICE:
            wanted.append((start, start + SLICE))
        full = self.kept > MOST_KEPT
        for which, a, b in matcher(self.literals, True).find_matches_as_indexes(
            memoryview(buf)[start:], overlapping=True
        ):
            a, b = a + start, b + start
            if a >= limit:
                continue
            self.found[which] += 1
            if self.found[which] <= PER_LITERAL and not full:
                wanted.append((max(0, a - BEFORE), min(len(buf), b + AFTER)))
        return _merged(buf, sorted(wanted))

    def end(self) -> Scan:
        if self.small is not None:
            data = b"".join(self.small)
            for which, _, _ in matcher(self.literals, False).find_matches_as_indexes(data, overlapping=True):
                self.found[which] += 1
            lines = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
            return self._scan((Segment(first=1, data=data),), lines, whole=True)
        # The tail: what the last rounds kept back, read again so that the end of the log is always there.
        tail_at, tail_line, tail = self.buf_at, self.buf_line, self.buf
        self._large(b"", last=True)
        self.parts.append((tail_at, tail_line, tail))
        lines = tail_line + tail.count(b"\n") + (not tail.endswith(b"\n"))
        return self._scan(tuple(_segments(self.parts)), lines, whole=False)

    def _scan(self, segments: tuple[Segment, ...], lines: int, whole: bool) -> Scan:
        counts = {self.literals[i]: n for i, n in enumerate(self.found) if n}
        return Scan(segments=segments, counts=counts, lines=int(lines), size=self.size, whole=whole)


def _merged(buf: bytes, wanted: list[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for a, b in wanted:
        if out and a <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], b))
        else:
            out.append((a, b))
    return [(buf.rfind(b"\n", max(0, a - BEFORE), a) + 1 or a, _line_end(buf, b)) for a, b in out]


def _line_end(buf: bytes, b: int) -> int:
    if b > 0 and buf[b - 1 : b] == b"\n":
        return b
    end = buf.find(b"\n", b, b + AFTER)
    return end + 1 if end >= 0 else min(len(buf), b + AFTER)


def _segments(parts: list[tuple[int, int, bytes]]) -> Iterable[Segment]:
    """Parts may overlap where two rounds kept the same bytes: each byte once, in order."""
    reached = 0
    for at, line, data in sorted(parts):
        if at + len(data) <= reached:
            continue
        skip = max(0, reached - at)
        yield Segment(first=line + data.count(b"\n", 0, skip) + 1, data=data[skip:])
        reached = at + len(data)
