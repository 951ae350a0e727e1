"""Names as addresses, pages and tables write them: `Zo%C3%AB`, `Zo&#235;`, full-width letters, a `~` or `+` for a blank.

The text is read as it would be shown, and what is found there is replaced in the text as it stands.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

_BYTES = r"(?:%[0-9A-Fa-f]{2})+"
_QUOTED = r"(?:=[0-9A-F]{2})+"  # quoted-printable, as mails have it
_ENTITY = r"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,7});"
_ESCAPE = r"\\+(?:u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]{1,6}\}|x[0-9A-Fa-f]{2})"
_BLANK = r"(?<=\w)[+~](?=\w)|(?<=;)[+~](?=\w)|(?<=\w)[+~](?=[&%])"
_WIDE = "[\uff01-\uff5e\u3000]"
_PIECE = re.compile(f"{_BYTES}|{_QUOTED}|{_ENTITY}|{_ESCAPE}|{_WIDE}|{_BLANK}")
_HINT = re.compile(r"%[0-9A-Fa-f]{2}|=[0-9A-F]{2}|&[#A-Za-z]|\\[ux]|\w[+~]\w|" + _WIDE)


class Encoded(NamedTuple):
    """Expressions that are looked for in the text as it would be shown."""

    patterns: Sequence[re.Pattern[str]]

    def sub(self, stand_in: str, text: str, /) -> str:
        if not _HINT.search(text):
            return text
        shown = _shown(text)
        for pattern in self.patterns:
            if pattern.search(shown[0]):
                text = _replaced(pattern, stand_in, text, *shown)
                shown = _shown(text)
        return text

    def search(self, text: str, /) -> re.Match[str] | None:
        shown = _shown(text)[0] if _HINT.search(text) else ""
        return next((m for p in self.patterns if (m := p.search(shown))), None)


def _replaced(pattern: re.Pattern[str], stand_in: str, text: str, shown: str, at: list[int], into: list[int]) -> str:
    parts, done = [], 0
    for m in pattern.finditer(shown):
        begin, end = _place(m.start(), at, into, text), _place(m.end(), at, into, text, last=True)
        if begin >= done and end > begin:
            parts += [text[done:begin], stand_in]
            done = end
    return "".join([*parts, text[done:]])


def _shown(text: str) -> tuple[str, list[int], list[int]]:
    """The text as it would be shown; where in it each piece that was read otherwise begins, and where that is in the text.

    A piece of which several letters come is told letter by letter, so that half of it can be replaced.
    """
    parts: list[str] = []
    at, into = [0], [0]
    length = done = 0
    for m in _PIECE.finditer(text):
        letters = _letters(m[0])
        if not letters:
            continue
        parts.append(text[done : m.start()])
        length += m.start() - done
        begin = m.start()
        for letter, size in letters:
            at.append(length)
            into.append(begin)
            parts.append(letter)
            length, begin = length + len(letter), begin + size
        at.append(length)
        into.append(m.end())
        done = m.end()
    return "".join([*parts, text[done:]]), at, into


def _place(shown: int, at: list[int], into: list[int], text: str, *, last: bool = False) -> int:
    """Where in the text stands what is shown there; the end of a letter of several signs is behind all of them."""
    i = bisect_right(at, shown - last) - 1
    inside, size = shown - at[i], (at[i + 1] - at[i] if i + 1 < len(at) else 1 << 60)
    if last and i + 1 < len(at) and inside == size:
        return into[i + 1]
    return min(into[i] + inside, into[i + 1] if i + 1 < len(into) else len(text))


def _letters(piece: str) -> list[tuple[str, int]]:
    """Each letter that the piece stands for, and how many signs of the piece it takes; nothing where it stands for itself."""
    first = piece[0]
    if first in "%=":
        return _of_bytes(piece)
    if first == "&":
        letter = html.unescape(piece).replace("\xa0", " ")
        return [(letter, len(piece))] if letter != piece and len(letter) == 1 else []
    if first == "\\":
        code = int(piece.lstrip("\\")[1:].strip("{}"), 16)
        return [(chr(code), len(piece))] if 32 <= code < 0x110000 and not 0xD800 <= code < 0xE000 else []
    if first in "+~\u3000":
        return [(" ", 1)]
    return [(chr(ord(first) - 0xFEE0), 1)]


def _of_bytes(piece: str) -> list[tuple[str, int]]:
    raw = bytes.fromhex(piece.replace(piece[0], ""))
    try:
        said = raw.decode("utf-8")
    except UnicodeDecodeError:
        said = raw.decode("latin-1")
        return [(c, 3) for c in said]
    return [(c, 3 * len(c.encode())) for c in said]
