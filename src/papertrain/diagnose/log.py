"""A log as rules see it: cleaned lines with their numbers, and an index from literals to lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import ahocorasick_rs

from papertrain.core.findings import LogLine
from papertrain.diagnose.clean import clean, pieces, quote
from papertrain.diagnose.scan import Scan

MOST_LINES = 400_000
LINE_BYTES = 16_000


class Line(NamedTuple):
    """A cleaned line. `no` is its 1-based number in the file; `gap` is true where lines before it were not kept."""

    no: int
    text: str
    rank: str
    gap: bool = False


class LogFile:
    """One source after the pass. `at[literal]` are indices into `lines`, in order."""

    def __init__(self, name: str, scan: Scan, literals: tuple[str, ...]) -> None:
        self.name, self.scan = name, scan
        self.lines: list[Line] = list(cleaned(scan))
        self.at = index(self.lines, literals)
        self.known = frozenset(literals)

    def having(self, literal: str, most: int = 300) -> list[int]:
        """Indices of the lines with that literal; one that no rule declared is looked for in the kept lines."""
        if literal not in self.at and literal not in self.known:
            self.at[literal] = [i for i, line in enumerate(self.lines) if literal in line.text]
        return self.at.get(literal, [])[:most]

    def quote(self, i: int) -> LogLine:
        return LogLine(file=self.name, line=self.lines[i].no, text=quote(self.lines[i].text))

    def around(self, i: int, before: int, after: int) -> Sequence[Line]:
        return self.lines[max(0, i - before) : i + after + 1]

    def joined(self, i: int, more: int = 2) -> str:
        """A line and what wraps onto the next ones of the same rank."""
        out = [self.lines[i].text]
        for line in self.lines[i + 1 : i + 1 + 4 * more]:
            if len(out) > more or line.gap:
                break
            if line.rank == self.lines[i].rank:
                out.append(line.text)
        return " ".join(" ".join(out).split())

    def count(self, literal: str) -> int:
        """Occurrences in the whole source, also where the lines were not kept."""
        return max(self.scan.counts.get(literal, 0), len(self.at.get(literal, ())))


def cleaned(scan: Scan) -> Iterator[Line]:
    n = 0
    for segment in scan.segments:
        gap = segment.first > 1
        no = segment.first
        for raw in segment.data.split(b"\n"):
            if len(raw) > LINE_BYTES and b"\r" not in raw:
                raw = raw[: LINE_BYTES // 2] + b" ... " + raw[-LINE_BYTES // 2 :]
            text = raw.decode("utf-8", "replace")
            if "\ufffd" in text and (better := gbk(raw)):
                text = better
            for piece in pieces(text)[-400:]:
                body, rank = clean(piece)
                if body.strip():
                    yield Line(no, body, rank, gap)
                    gap = False
                    n += 1
                    if n >= MOST_LINES:
                        return
            no += 1


def gbk(raw: bytes) -> str:
    """Chinese Windows terminals write GBK; '' where the bytes are not that either."""
    try:
        text = raw.decode("gb18030")
    except UnicodeDecodeError:
        return ""
    wide = [c for c in text if c > "\x7f"]
    return text if wide and sum("\u3000" <= c <= "\u9fff" or c > "\uff00" for c in wide) > 0.8 * len(wide) else ""


@lru_cache(maxsize=4)
def text_matcher(literals: tuple[str, ...]) -> ahocorasick_rs.AhoCorasick:
    return ahocorasick_rs.AhoCorasick(list(literals), store_patterns=False)


def index(lines: Sequence[Line], literals: tuple[str, ...]) -> dict[str, list[int]]:
    """literal → indices of the lines that hold it. The lines are searched in blocks, not one by one."""
    match = text_matcher(literals)
    out: dict[str, list[int]] = {}
    for base in range(0, len(lines), 4000):
        block = [line.text for line in lines[base : base + 4000]]
        hits = match.find_matches_as_indexes("\n".join(block), overlapping=True)
        if not hits:
            continue
        i, end = 0, len(block[0])
        for which, start, _ in sorted(hits, key=lambda h: h[1]):
            while start > end:
                i += 1
                end += len(block[i]) + 1
            found = out.setdefault(literals[which], [])
            if not found or found[-1] != base + i:
                found.append(base + i)
    return out
