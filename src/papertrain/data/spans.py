"""How many tokens a text comes to in a tokenizer that is not here: an interval from the text alone.

Fitted on eleven tokenizers (Qwen, GPT-2's heir p50k, cl100k and o200k, DeepSeek-V3 twice, Claude 2, Mistral's three, BERT) over
English, code, data, LaTeX and Chinese; Llama 2 and 3 and Qwen 3.6 on other texts were left out, and held: tests/data/test_spans.py.
Words count once and a tenth of a token more for every letter past the fourth; digits go one by one or by threes.
"""

from __future__ import annotations

import re
from typing import NamedTuple

SMALL_BELOW = 60_000
"""Entries of a vocabulary below which it splits more, and wide characters into bytes."""

_KOREAN = re.compile(r"[\u1100-\u11ff\ua960-\ua97f\uac00-\ud7ff]+")
_WIDE = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]+")
_SYMBOL = re.compile(r"[^\x00-\x7f\w]")
_FAR = re.compile(r"[^\x00-\u024f]")
"""Letters that are not Latin: Cyrillic, Greek, Arabic, Thai, …"""
_ENGLISH = re.compile(r"\b(?:the|and|of|to|is|in|a|for|that|you|I)\b")
_KINDS = bytes(
    ord("a" if i > 127 or chr(i).isalpha() else "0" if chr(i).isdigit() else " " if i == 32 else "n" if i in (9, 10, 13) else ".")
    for i in range(256)
)  # fmt: skip


class Rates(NamedTuple):
    """Tokens, fewest and most. A character of Korean, of Chinese and Japanese, of another alphabet; a symbol. words: on
    the estimate for words; foreign: more for the words of a language that is not English; sign, run: of punctuation, each
    and for each run; space: a line's end and an indent; digit: further ones of a number beside its first."""

    korean: tuple[float, float]
    wide: tuple[float, float]
    far: tuple[float, float]
    symbol: tuple[float, float]
    words: tuple[float, float]
    foreign: float
    sign: float
    run: float
    signs: tuple[float, float]
    line: tuple[float, float]
    indent: tuple[float, float]
    number: tuple[float, float]
    digit: tuple[float, float]


LARGE = Rates(
    korean=(0.4, 1.9), wide=(0.45, 1.25), far=(0.18, 1.2), symbol=(0.9, 2.8), words=(0.88, 1.13), foreign=0.95, sign=0.2, run=0.6,
    signs=(0.85, 1.35), line=(0.35, 0.65), indent=(0.245, 0.455), number=(1.0, 1.5), digit=(0.25, 1.0),
)  # fmt: skip
SMALL = Rates(
    korean=(0.8, 3.2), wide=(0.75, 2.4), far=(0.25, 1.7), symbol=(0.6, 3.0), words=(0.84, 1.14), foreign=1.2, sign=0.3, run=0.9,
    signs=(0.85, 1.25), line=(0.1, 1.45), indent=(0.0, 0.4), number=(0.8, 1.6), digit=(0.2, 1.0),
)  # fmt: skip


def rates(vocabulary: int | None) -> Rates:
    return SMALL if vocabulary and 0 < vocabulary < SMALL_BELOW else LARGE


def span(text: str, r: Rates) -> tuple[float, float]:
    """The fewest and the most tokens of a text."""
    low = high = 0.0
    accents = 0
    if not text.isascii():
        for pattern, (few, many) in ((_KOREAN, r.korean), (_WIDE, r.wide), (_SYMBOL, r.symbol), (_FAR, r.far)):
            n = len(text) - len(pattern.sub("", text))
            if n:
                low, high, text = low + few * n, high + many * n, pattern.sub(" ", text)
        accents = len(text) - len(text.encode("ascii", "ignore"))
    kinds = b"n" + text.encode("utf-8", "replace").translate(_KINDS)
    letters, words = kinds.count(b"a"), _starts(kinds, b"a")
    digits, numbers = kinds.count(b"0"), _starts(kinds, b"0")
    signs = kinds.count(b".")
    lines, indents = _starts(kinds, b"n"), kinds.count(b"n ")
    estimate = 1.05 * words + 0.1 * (letters - 4 * words)
    foreign = min(1.0, accents / (0.02 * letters + 1))
    if words >= 10 and signs + digits < 0.08 * letters and len(_ENGLISH.findall(text)) < words / 40:
        foreign = 1.0
    marks = r.sign * signs + r.run * _starts(kinds, b".")

    def end(i: int, more: float) -> float:
        rest = r.signs[i] * marks + r.line[i] * lines + r.indent[i] * indents
        return (r.words[i] + more) * estimate + rest + r.number[i] * numbers + r.digit[i] * (digits - numbers)

    return low + end(0, 0.0), high + end(1, foreign * r.foreign)


def _starts(kinds: bytes, kind: bytes) -> int:
    """Runs of one kind of character."""
    return sum(kinds.count(other + kind) for other in (b" ", b"n", b".", b"0", b"a") if other != kind)
