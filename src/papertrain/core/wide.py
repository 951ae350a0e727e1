"""Lines of a terminal: Chinese characters are two columns wide, and a line may end after any of them."""

from __future__ import annotations

import re
import textwrap
import unicodedata

_PIECE = re.compile(r"\s+|[\u2e80-\u9fff\uf900-\ufaff\uff01-\uff60\u3000-\u303f\u2018-\u201d](?:[，。；：、！？）」》”’\uff05]+)?|[^\s\u2e80-\u9fff\uf900-\ufaff\uff01-\uff60\u3000-\u303f\u2018-\u201d]+[，。；：、！？）」》”’]*")  # fmt: skip


def width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def padded(text: str, to: int) -> str:
    """The text with blanks up to that many columns."""
    return text + " " * max(0, to - width(text))


def folded(text: str, room: int) -> list[str]:
    """The lines of a text that has so many columns; never empty."""
    if width(text) == len(text):
        return textwrap.wrap(text, room, break_on_hyphens=False, break_long_words=False) or [""]
    lines, line = [], ""
    for piece in _PIECE.findall(" ".join(text.split())):
        if line and width(line) + width(piece.rstrip()) > room:
            lines.append(line.rstrip())
            line = ""
        line += "" if not line and piece.isspace() else piece
    return [*lines, line.rstrip()] if line.strip() else lines or [""]
