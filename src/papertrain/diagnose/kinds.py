"""Where no signature fits: what the words of the first exception, and the place it was raised in, speak for.

A library words a refusal anew in every release and says the same: a value that it does not know, two settings that exclude each other,
a column that is not there. Such a family is asked for last, and its answer is a candidate, not a certainty.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from papertrain.core.findings import LogLine
from papertrain.diagnose.case import Case
from papertrain.diagnose.catalogue import causes
from papertrain.diagnose.rule import Match
from papertrain.diagnose.trace import Exc

LONGEST = 1200
"""Characters of a message that are looked at; what follows is a dump of values."""
OWN = frozenset(
    {
        "NameError",
        "UnboundLocalError",
        "ZeroDivisionError",
        "FileNotFoundError",
        "SyntaxError",
        "IndentationError",
        "AssertionError",
    }
)
"""What Python says of a line of the user's own: that line tells more than any kind of message."""


@lru_cache(maxsize=1024)
def pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


def by_kind(case: Case) -> list[Match]:
    """The classes whose kind of message the first exception is; of the later ones, where that one says nothing."""
    for told, line in said(case):
        found = [
            rule.found(rule.kind_confidence, [line])
            for rule in causes().values()
            if any(pattern(p).search(told) for p, _ in rule.kinds)
        ]
        if found:
            return sorted(found, key=lambda m: -m.confidence)
    return []


def said(case: Case) -> Iterator[tuple[str, LogLine]]:
    """`Type: message @ innermost frame` of every exception that is no wrapper, the one that others follow from first."""
    first = [case.root] if case.root is not None else []
    for e in (*first, *(x for x in case.exceptions if x is not case.root and not x.wrapper)):
        if not of_the_script(e):
            yield in_words(e, case), e.quote()


def of_the_script(e: Exc) -> bool:
    """Raised by a line of the user's own script. A framework that lies beside it has its own, deeper, assertions."""
    kind = e.type.rpartition(".")[2]
    return e.own is not None and e.own.last and kind in OWN and (kind != "AssertionError" or len(e.frames) <= 2)


def in_words(e: Exc, case: Case) -> str:
    place = f" @ {e.frames[-1][:400]}" if e.frames else ""
    return f"{e.type.rpartition('.')[2]}: {message(e, case)[:LONGEST]}{place}"


_OPEN = (":", ",", "(", "[", "{", "\\")
WRAPPED = 76
"""Columns from which a box or a terminal may have broken a message."""


def message(e: Exc, case: Case) -> str:
    """The message without what other parts of the program print right behind it."""
    log = next(x for x in case.logs if x.name == e.file)
    first, after = log.lines[e.last].text, log.lines[e.last + 1 : e.last + 2]
    goes_on = first.rstrip().endswith(_OPEN) or len(first) >= WRAPPED or any(x.text[:1].isspace() for x in after)
    return e.message if goes_on else first.partition(": ")[2]
