r"""Columns whose numbers stand with their points below one another: `S` of siunitx 3, asked for with `--style siunitx`.

The number itself is bare, so that siunitx can read it; all that stands behind it (±, daggers, notes) is one group in
braces, and what is no number is a group altogether. `\bfseries` keeps the point in its place, `\textbf` would not; an
underline cannot be in a number either, so that it is drawn below it from behind, without any width.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from papertrain.core.values import Record
from papertrain.report.table import Shown

NUMBER = re.compile(r"([+-]?)(\d+)(?:\.(\d+))?")
SETUP = r"\sisetup{mode=text,detect-weight=true}"
MACRO = "\\providecommand{\\ptsecond}[1]{\\llap{\\underline{\\phantom{#1}}}}\n"
"""Digits in the font of the text, as in the rest of the table, and bold where the cell is."""


class Shape(Record, frozen=True, kw_only=True):
    """What a column reserves. spread: digits before the point of the widest deviation."""

    sign: str
    whole: int
    decimals: int
    spread: int
    behind: str

    @property
    def column(self) -> str:
        digits = f"{self.sign}{self.whole}" + (f".{self.decimals}" if self.decimals else "")
        return f"S[table-format={digits}{'{' + self.behind + '}' if self.behind else ''}]"

    @property
    def printed(self) -> int:
        """About how many characters wide it is."""
        return len(self.sign) + self.whole + (self.decimals + 1 if self.decimals else 0) + _printed(self.behind)


def shape(column: Sequence[tuple[Shown, str]]) -> Shape:
    """Of all cells of a column, each with the marks behind it (dagger, letter of its note)."""
    read = [m for c, _ in column if (m := NUMBER.fullmatch(c.text))]
    spread = max((len(c.plus_minus.partition(".")[0]) for c, _ in column), default=0)
    behind = [_behind(c, marks, spread) for c, marks in column if NUMBER.fullmatch(c.text)]
    return Shape(
        sign="-" if any(m[1] for m in read) else "",
        whole=max((len(m[2]) for m in read), default=1),
        decimals=max((len(m[3] or "") for m in read), default=0),
        spread=spread,
        behind=max(behind, key=_printed, default=""),
    )


def _printed(text: str) -> int:
    """About how many characters of it are printed."""
    return len(re.sub(r"\\[A-Za-z]+", "x", re.sub(r"\\phantom\b|\\,|[{}$^]", "", text)))


def _behind(c: Shown, marks: str, spread: int) -> str:
    out = ""
    if c.plus_minus:
        missing = spread - len(c.plus_minus.partition(".")[0])
        pad = rf"\phantom{{{'0' * missing}}}" if missing else ""
        out += rf"\,$\pm$\,{pad}{c.plus_minus}"
    return out + (rf"\,{c.interval}" if c.interval else "") + marks


def cell(c: Shown, marks: str, s: Shape) -> str:
    if not NUMBER.fullmatch(c.text):
        return f"{{{c.text}{marks}}}"
    behind = _behind(c, marks, s.spread)
    if c.mark == "best":
        return rf"\bfseries {c.text}" + (rf"{{\mdseries{behind}}}" if behind else "")
    if c.mark == "second":
        behind = rf"\ptsecond{{{c.text}}}{behind}"
    return c.text + (f"{{{behind}}}" if behind else "")
