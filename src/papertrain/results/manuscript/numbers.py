"""The numbers of a page, each with what stands around it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from papertrain.core.values import Record
from papertrain.results.manuscript.tables import Place, places
from papertrain.results.manuscript.tex import Page

NUMBER = re.compile(
    r"(?<![A-Za-z0-9_@.\\])(?P<sign>[+\-\u2212]|\$[+\-]\$)?(?P<digits>\d{1,3}(?:(?:,|\{,\}|\\,)\d{3})+(?:\.\d{1,18})?|\d{0,18}\.\d{1,18}|\d{1,18})(?!\d)"
    r"(?:[eE](?P<e>[+-]?\d{1,3})(?![0-9A-Za-z])|\s*(?:\\times|\\cdot)\s*10\s*\^\s*\{?\s*(?P<ten>-?\d{1,3})\s*\}?)?(?P<percent>\s*\\?%|\s*\}?\s*\{?\s*\\%|\s*\}?\s*\{?\s*\\percent|\s+percent\b)?"
)
POINTERS = re.compile(
    r"(?:\b(?:sec(?:tion)?|tab(?:le)?|fig(?:ure)?|eqs?|equation|appendix|app|chapter|step|algorithm|alg|line|theorem|lemma|definition|stage|phase|version|v|question|rq|layer|page|pp?|python|cuda|epoch|no)\.?|§|#|\\S)[\s~]*$",
    re.I,
)
PLUS_MINUS = re.compile(r"(?:\\pm|±|\+/-|\+-)(?:\s|\$|\{|\\[,;:! ]|\\[hv]?phantom\b)*$|\+(?=-$)")
LAST_PLACES = re.compile(r"\d*\.(\d+)\($")
"""As siunitx and physicists write it: 81.7(4) is 81.7 ± 0.4."""
P_VALUE = re.compile(
    r"\bp(?:[_\-\s]*(?:value|adj|holm)s?)?\s*\$?\s*(?P<op>=|<|>|\\leq?|\\geq?|≤|≥|\\ll|of)\s*\$?\s*$", re.I
)
LEVELS = re.compile(r"(?:\\?alpha|α|confidence|level|interval)s?\s*\$?\s*(?:=|of)\s*\$?\s*$", re.I)
LEVEL_AFTER = re.compile(
    r"^\s*\$?[\s~-]*(?:\w+\s+){0,1}(?:confidence|ci\b|cis\b|interval|credible|power\b|level\b)", re.I
)
COUNTED = re.compile(r"\b[nN]\s*\$?\s*=\s*\$?\s*$")
UNIT_AFTER = re.compile(
    r"^\s*(?:\$\s*)?[\s~-]*(?:gpu|shot|bit|way|fold|layer|head|token|epoch|step|second|minute|day|week|year|gb|mb|tb|parameter|billion|million|k\b|b\b|m\b)",
    re.I,
)


MEASURE_AFTER = re.compile(
    r"^\s*[~\s]?(?:[KMBGT](?![A-Za-z])|[KMGT]i?B\b|(?:GPU|CPU|TPU)|hours?\b|minutes?\b|seconds?\b|days?\b|ms\b|billion|million|thousand|parameters?\b)"
)
"""Sizes and times: no scores, whatever stands near them."""


class Number(Record, frozen=True, kw_only=True):
    """kind: `value`, `plus-minus`, `p`, `low` and `high` of an interval. place: its cell, where it stands in a table."""

    at: int
    line: int
    shown: str
    value: float
    decimals: int
    percent: bool
    kind: str
    sign: bool = False
    op: str = ""
    place: Place | None = None
    sentence: tuple[int, int] = (0, 0)
    plain: bool = False
    """An integer without a percent sign: a count, a year, a setting more often than a result."""


def numbers(page: Page) -> Iterator[Number]:
    cells = places(page)
    spans = sentences(page.seen)
    at_cell, at_sentence, line, counted = 0, 0, 1, 0
    for m in NUMBER.finditer(page.seen):
        start, text = m.start("digits"), page.seen
        before, after = text[max(0, m.start() - 40) : m.start()], text[m.end() : m.end() + 40]
        while at_cell < len(cells) and cells[at_cell].end <= start:
            at_cell += 1
        place = cells[at_cell] if at_cell < len(cells) and cells[at_cell].start <= start else None
        while at_sentence + 1 < len(spans) and spans[at_sentence][1] <= start:
            at_sentence += 1
        if not _is_number(m, before, after, place):
            continue
        line, counted = line + page.text.count("\n", counted, start), start
        digits = re.sub(r"[,{}\\]", "", m["digits"])
        power = int(m["e"] or m["ten"] or 0)
        shift = max(-power, 0) if power < 0 else 0
        value = float(digits) * 10.0**power
        negative = (m["sign"] or "").strip("$") in ("-", "\u2212") and not _range(before)
        decimals = len(digits.partition(".")[2]) + (shift if power < 0 else -power)
        if digits.isdigit() and (last := _last_places(before, after)):
            value, decimals = value / 10**last, last
        kind, op = _kind(before, after, text, m)
        if kind == "level":
            continue
        yield Number(
            at=start, line=line, shown=m["digits"].replace("{,}", ",").replace("\\,", ","), value=-value if negative else value, decimals=decimals,
            percent=bool(m["percent"]), kind=kind, op=op, sign=bool(m["sign"]), place=place, sentence=spans[at_sentence] if spans else (0, 0),
            plain="." not in digits and not power and not m["percent"],
        )  # fmt: skip


def _range(before: str) -> bool:
    """A hyphen between two numbers, behind a word or behind a plus is no minus."""
    return bool(re.search(r"[\w\d\]\)+]$", before))


def _last_places(before: str, after: str) -> int:
    """In `81.7(4)` the 4 counts the last place: how many decimals it has; 0 elsewhere."""
    m = LAST_PLACES.search(before)
    return len(m[1]) if m and after.startswith(")") else 0


def _is_number(m: re.Match[str], before: str, after: str, place: Place | None) -> bool:
    if re.match(r"[A-Za-z]", after) and not m["percent"]:
        return False
    if (
        re.search(r"[A-Za-z]-$", before + (m["sign"] or ""))
        or re.match(r"-[A-Za-z]", after)
        or re.search(r"\^\{?$", before)
    ):
        return False
    if re.match(r"\.\d", after):
        return False
    digits = m["digits"]
    if place is None and not m["percent"] and MEASURE_AFTER.match(after):
        return False
    if place is None and (POINTERS.search(before) or (re.fullmatch(r"(?:19|20)\d\d", digits) and not m["percent"])):
        return False
    return not (place is None and "." not in digits and not m["percent"] and UNIT_AFTER.match(after))


def _kind(before: str, after: str, text: str, m: re.Match[str]) -> tuple[str, str]:
    if LEVELS.search(before) or (m["percent"] and LEVEL_AFTER.match(after)):
        return "level", ""
    if p := P_VALUE.search(before):
        return "p", p["op"]
    if (
        PLUS_MINUS.search(before + (m["sign"] or ""))
        or _last_places(before, after)
        or re.search(r"\d\$?_\{?(?:\\[a-z]+\s*)?\{?$", before)
    ):
        return "plus-minus", ""
    if COUNTED.search(before):
        return "count", ""
    if re.search(r"\[\s*\$?$", before) and re.match(r"\s*\$?\s*(?:,|;|--|–|to)\s*\$?\s*[+\-\u2212]?\d", after):
        return "bound", ""
    if re.search(r"\[\s*\$?[+\-\u2212]?[\d.]+\s*(?:\\?%)?\$?\s*(?:,|;|--|–|to)\s*\$?$", before) and re.match(
        r"\s*\$?\s*\]", after
    ):
        return "bound", ""
    return "value", ""


END = re.compile(
    r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!vs\.)(?<!cf\.)(?<!al\.)(?<!Fig\.)(?<!Tab\.)(?<!Sec\.)[\s~]+(?=[A-Z\\$])|\n\s*\n|\\(?:section|subsection|paragraph|item|caption)\b|\\\\"
)


def sentences(text: str) -> list[tuple[int, int]]:
    """Spans of the sentences; a blank line, a heading and an item end one too."""
    out, at = [], 0
    for m in END.finditer(text):
        if m.end() > at:
            out.append((at, m.end()))
            at = m.end()
    return [*out, (at, len(text))]
