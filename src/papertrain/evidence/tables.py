"""Tables that compare wrote, held against the evidence that they name: a cell changed by hand says something else."""

from __future__ import annotations

import contextlib
import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from papertrain.core.evidence import same
from papertrain.core.results import Evidence
from papertrain.core.texts import say

_MACRO = re.compile(r"\\newcommand\{\\pt\w+\}\{(?P<shown>[^}]*)\}%\s*(?P<id>E\d+) (?:verified|reported|typed) (?P<value>\S+)$")  # fmt: skip
_COMMENT = re.compile(r"%   (?:(?P<id>E\d+) (?:verified|reported|typed) (?P<value>\S+) |missing: |no evidence id )")
_NUMBER = re.compile(r"[-+−]?\d+(?:\.\d+)?")
_CELL = re.compile(r"(?<!\\)&")
SCALES = (1.0, 100.0)
"""A fraction is shown as it is, or in percent."""


class Differs(NamedTuple):
    file: str
    line: int
    says: str


def is_table(name: str) -> bool:
    return name.startswith("tables/") and name.endswith((".csv", ".tex"))


def contradictions(tables: Iterable[tuple[str, str]], entries: Sequence[Evidence]) -> Iterator[Differs]:
    """(file, line, what) for each number of a table (its name, its text) that is not what the evidence of that id says. A
    table of which the ids are gone, or that somebody wrote, is passed over: `check main.tex` reads those."""
    values = {e.id: e.value for e in entries}
    for name, text in tables:
        for line, shown, id, written in _of_csv(text) if name.endswith(".csv") else _of_tex(text):
            value = values.get(id)
            if id not in values:
                yield Differs(name, line, say("it names {id}, which evidence.jsonl does not hold", id=id))
            elif not isinstance(value, (int, float)) or _number(written) is None:
                continue
            elif not (right := _rounded(shown, float(value))) or not same(value, float(written)):
                told = written if right else _plain(shown)
                yield Differs(name, line, say("it says {shown}, evidence {id} says {value}", shown=told[:40], id=id, value=value))  # fmt: skip


def _of_csv(text: str) -> Iterator[tuple[int, str, str, str]]:
    """(line, as shown, id, as written) of every row with a value and an id, as far as it can be read."""
    rows = csv.DictReader(io.StringIO(text))
    with contextlib.suppress(csv.Error):
        for row in rows:
            id, value = row.get("evidence") or "", row.get("value") or ""
            if re.fullmatch(r"E\d+", id) and _number(value) is not None:
                yield rows.line_num, value, id, value


def _of_tex(text: str) -> Iterator[tuple[int, str, str, str]]:
    """Likewise of the macros, and of each row whose cells are told one by one in the comments below it."""
    lines = text.splitlines()
    for i, line in enumerate(lines):
        if m := _MACRO.match(line):
            yield i + 1, m["shown"], m["id"], m["value"]
        elif line.endswith(r"\\"):
            told: list[re.Match[str]] = []
            while i + 1 + len(told) < len(lines) and (m := _COMMENT.match(lines[i + 1 + len(told)] + " ")):
                told.append(m)
            cells = _CELL.split(line.removesuffix(r"\\"))[1:]
            if told and len(cells) == len(told):
                yield from ((i + 1, cell, m["id"], m["value"]) for cell, m in zip(cells, told) if m["id"])


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _plain(shown: str) -> str:
    """The number in it, or nothing."""
    m = _NUMBER.search(re.sub(r"\$-\$|(?<!-)--(?=\d)", "-", re.sub(r"\{,\}|(?<=\d),(?=\d{3})|\\,", "", shown)))
    return m[0].replace("−", "-") if m else ""


def _rounded(shown: str, value: float) -> bool:
    """Whether what is shown may stand for the value. What is no plain number is not judged."""
    number = _plain(shown)
    if not number or any(sign in shown for sign in ("times", "num{", "e-", "e+")):
        return True
    half = 0.5 * 10.0 ** -len(number.partition(".")[2]) * (1 + 1e-6)
    return any(abs(float(number) - value * scale) <= half for scale in SCALES)
