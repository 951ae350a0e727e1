"""Many things to look for as one expression: a text is searched once, however many there are."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

Way = Sequence[str]
"""One thing to look for, in small expressions: a letter, a gap."""
_END = ""
_SIGNS = {
    "ß": "ss",
    "ø": "o",
    "Ø": "O",
    "ł": "l",
    "Ł": "L",
    "æ": "ae",
    "Æ": "AE",
    "œ": "oe",
    "å": "aa",
    "Å": "AA",
    "ı": "i",
    "đ": "dj",
}
"""What LaTeX calls letters that are no letter with an accent."""


def joined(ways: Iterable[Way]) -> str:
    """An expression for any of the ways. What begins alike is tried once, and a longer way before the shorter one in it."""
    root: dict[str, Any] = {}
    for way in ways:
        node = root
        for atom in way:
            node = node.setdefault(atom, {})
        node[_END] = {}
    return _written(root)


def _written(node: dict[str, Any]) -> str:
    branches = []
    for atom, rest in node.items():
        if atom == _END:
            continue
        text = [atom]
        while len(rest) == 1 and _END not in rest:  # no choice: a run of letters needs no group
            ((atom, rest),) = rest.items()
            text.append(atom)
        branches.append("".join(text) + _written(rest))
    if not branches:
        return ""
    if len(branches) == 1 and _END not in node:
        return branches[0]
    return f"(?:{'|'.join(branches)}){'?' if _END in node else ''}"


def folded(text: str) -> list[str]:
    """Letter by letter, large or small."""
    return [atom(c, fold=True) for c in text]


def exact(text: str) -> list[str]:
    return [atom(c) for c in text]


def atom(letter: str, *, fold: bool = False) -> str:
    """Letters as they are, or both; a backslash also doubled, where JSON stands in JSON; accents also as LaTeX
    writes them. What stands for a letter in a page or an address is read before (`encoded`)."""
    if letter == "\\":
        return r"\\+"
    if not letter.isascii() and (base := unicodedata.normalize("NFD", letter))[0].isascii() and len(base) == 2:
        plain = atom(base[0], fold=fold)
        return rf"(?:{_cases(letter, fold)}|\{{?\\+\W?\s?[\w]?\{{?\\?{plain}\}}?\}}?)"
    if letter in _SIGNS:
        return rf"(?:{_cases(letter, fold)}|\{{?\\+{_SIGNS[letter]}(?:\{{\}}|\}}|\s)?)"
    return _cases(letter, fold)


def _cases(letter: str, fold: bool) -> str:
    small, large = letter.lower(), letter.upper()
    if fold and small != large and len(small) == len(large) == 1:
        return f"[{small}{large}]"
    return letter if letter.isalnum() or letter == "_" else f"\\{letter}" if letter.isascii() else letter
