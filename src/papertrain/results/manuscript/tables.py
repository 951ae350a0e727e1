"""The cells of LaTeX tables: where each lies, and the words of its row and its columns."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from papertrain.core.values import Record
from papertrain.results.manuscript.tex import Page

EDGE = re.compile(r"\\(begin|end)\{(tabular\*?|tabularx|tabulary|longtable|tblr)\}")
SPAN = re.compile(r"^[\s{]*\\multicolumn\s*\{\s*(\d{1,3})\s*\}")
RULE = re.compile(r"\\(?:midrule|hline)\b")
CAPTION = re.compile(r"\\caption\b")
FLOAT = re.compile(r"\\begin\{(table\*?|figure\*?|longtable)\}")
EVIDENCE = re.compile(r"^(E\d+)\b")


class Place(Record, frozen=True, kw_only=True):
    """One cell. row, column: the words of the labels; evidence: the id that a comment behind the row gives to it."""

    start: int
    end: int
    row: str
    column: str
    around: str = ""
    evidence: str = ""


def places(page: Page) -> list[Place]:
    """Every cell of every table that is no label, in order."""
    out: list[Place] = []
    floats = [m.start() for m in FLOAT.finditer(page.text)]
    comments = [at for at, _ in page.comments]
    tables = list(_tables(page))
    letters = list(page.seen) if any(small for _, _, small in tables) else []
    for start, end, small in tables:
        if small:
            letters[start:end] = re.sub(r"\\\\|&", lambda m: " " * len(m[0]), page.seen[start:end])
    seen = "".join(letters) or page.seen
    for start, end, small in tables:
        if not small:
            out += _cells(page, seen, start, end, _around(page, start, end, floats), comments)
    return sorted(out, key=lambda p: p.start)


INNER = 500


def _tables(page: Page) -> Iterator[tuple[int, int, bool]]:
    """(start, end, True for a small table within a cell of another one). Of large nested ones only the inner count."""
    waiting: list[tuple[int, str, bool]] = []
    found: list[tuple[int, int]] = []
    for m in EDGE.finditer(page.text):
        if page.seen[m.start() : m.start() + 2] not in ("\\b", "\\e"):
            continue
        if m[1] == "begin":
            waiting.append((m.end(), m[2], False))
        elif waiting and waiting[-1][1] == m[2]:
            start, _, filled = waiting.pop()
            small = bool(waiting) and m.start() - start < INNER
            if small:
                yield start, m.start(), True
            elif not filled:
                found.append((start, m.start()))
                waiting = [(a, name, True) for a, name, _ in waiting[-3:]]
    for start, end in found:
        yield start, end, False


def _around(page: Page, at: int, end: int, floats: Sequence[int]) -> str:
    """The caption of the float that a table stands in."""
    before = bisect_left(floats, at)
    start = floats[before - 1] if before else at
    close = page.text.find("\\end{table", end if end > 0 else at)
    m = CAPTION.search(page.seen, start, close if close > 0 else len(page.text))
    if m is None:
        return ""
    stop = page.text.find("\n\n", m.end())
    return page.seen[m.end() : min(stop if stop > 0 else m.end() + 600, m.end() + 600)]


def _cells(page: Page, seen: str, start: int, end: int, around: str, comments: Sequence[int]) -> list[Place]:
    rows = _split(seen, start, end, "\\\\")
    grid = [[(a, b) for a, b in _split(seen, ra, rb, "&")] for ra, rb in rows]
    rule = [m.start() for m in RULE.finditer(page.text, start, end)]
    # rules, commands and blanks around a label are no part of it
    body = next(
        (
            i
            for i, (ra, rb) in enumerate(rows)
            if any(re.search(r"\d", seen[a:b]) and not _label(seen[a:b]) for a, b in grid[i][1:])
        ),
        len(rows),
    )
    head_end = next(
        (i for i, (ra, rb) in enumerate(rows) if rule and rb > rule[0] and any(seen[a:b].strip() for a, b in grid[i])),
        body,
    )
    head = head_end if 0 < head_end <= body else body
    heads: dict[int, list[str]] = {}
    for i in range(head):
        column = 0
        for a, b in grid[i]:
            span = SPAN.match(_text(page, a, b))
            wide = int(span[1]) if span else 1
            for j in range(column, column + wide):
                heads.setdefault(j, []).append(seen[a:b])
            column += wide
    out: list[Place] = []
    group = ""
    for i in range(head, len(rows)):
        cells = grid[i]
        if len(cells) == 1:
            group = seen[cells[0][0] : cells[0][1]]
            continue
        ids = _ids(page, rows[i][1], rows[i + 1] if i + 1 < len(rows) else (end, end), comments)
        label, column = seen[cells[0][0] : cells[0][1]], 0
        for n, (a, b) in enumerate(cells):
            span = SPAN.match(_text(page, a, b))
            if n:
                own = ids[n - 1] if len(ids) == len(cells) - 1 else ""
                out.append(
                    Place(
                        start=a,
                        end=b,
                        row=f"{label} {group}",
                        column=" ".join(heads.get(column, ())),
                        around=around,
                        evidence=own,
                    )
                )
            column += int(span[1]) if span else 1
    return out


def _text(page: Page, a: int, b: int) -> str:
    """A cell as written, without the comment lines before it."""
    return "\n".join(line for line in page.text[a:b].split("\n") if not line.lstrip().startswith("%")).strip()


def _label(text: str) -> bool:
    """Digits within a word, as in F1 or 5-shot, make no number of it."""
    return not re.search(r"(?<![\w@-])[+\-]?\d*\.?\d+(?![\w-])", text)


def _ids(page: Page, at: int, following: tuple[int, int], comments: Sequence[int]) -> list[str]:
    """Evidence ids in the comment lines between a row and the next one."""
    out = []
    for i in range(bisect_left(comments, at), len(page.comments)):
        where, text = page.comments[i]
        if where > following[1] or (page.seen[at:where].strip() and not page.seen[at:where].strip().startswith("\\")):
            break
        m = EVIDENCE.match(text)
        out.append(m[1] if m else "-")
    return ["" if i == "-" else i for i in out]


def _split(text: str, start: int, end: int, mark: str) -> list[tuple[int, int]]:
    """Spans between marks that stand outside of braces."""
    out, depth, at, i = [], 0, start, start
    while i < end:
        c = text[i]
        if c == "\\" and text[i : i + 2] in ("\\\\", "\\{", "\\}", "\\&"):
            if mark == "\\\\" and text[i : i + 2] == mark and not depth:
                out.append((at, i))
                at = i + 2
            i += 2
            continue
        if c == "{":
            depth += 1
        elif c == "}":
            depth = max(0, depth - 1)
        elif c == mark and not depth:
            out.append((at, i))
            at = i + 1
        i += 1
    if text[at:end].strip() or mark == "&":
        out.append((at, end))
    return out
