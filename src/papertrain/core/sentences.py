"""Sentences that are made where their values are known (errors, the reasons of a plan), in the user's language afterwards.

They are stored and compared in English. A face that shows one asks `translated`: the sentence is found by its template
in `core/catalogues/<language>-*.toml`, and its values are put into the other language's template.
"""

from __future__ import annotations

import re
import string
import tomllib
from functools import lru_cache

from papertrain.core.counts import for_many
from papertrain.core.texts import CATALOGUES, catalogue, language

LONGEST = 4000
DEPTH = 3
SURE, SURER, SUREST = 4, 6, 12
"""How many letters a template must have of its own to be believed; below the second its values must be short, and below
the third a long one must stand behind or before a mark: `{n} tokens` is no template of every sentence that ends so."""
WORDS = 3
MARKS = frozenset(":;,(→")
COMMENT = "   # "
RUN = re.compile(r"(?:\{\w+\}){2,}")

Template = tuple[tuple[str, ...], tuple[str, ...], str]
"""The fixed pieces, the names of the values between them, and the other language's template."""


def translated(text: str) -> str:
    """The sentence in the user's language; as it is where no template fits."""
    lang = language.get()
    if lang == "en" or not text or len(text) > LONGEST or text.isspace():
        return text
    return _told(text, lang, 0)


@lru_cache(maxsize=4096)
def _told(text: str, lang: str, depth: int) -> str:
    exact, made = _known(lang)
    if text in exact:
        return exact[text]
    command, mark, comment = text.partition(COMMENT)
    if mark:  # of a command to copy only what stands behind it
        return command + mark + _told(comment, lang, depth)
    found = _best(text, made) or _best(for_many(text), made)
    if found is not None:
        (_, names, other), values = found
        told = {n: _told(v, lang, depth + 1) if depth < DEPTH and " " in v else _word(v, exact) for n, v in zip(names, values, strict=True)}  # fmt: skip
        return string.Formatter().vformat(other, [told.get(str(i), "") for i in range(len(told))], told)
    if depth < DEPTH:
        for mark, wide in ((". ", " "), ("; ", "；"), (", ", "，")):
            if mark in text:
                parts = text.split(mark)
                if mark == ". ":
                    parts = [f"{p}." for p in parts[:-1]] + parts[-1:]
                other_parts = [_told(p, lang, depth + 1) for p in parts]
                if parts != other_parts:
                    return wide.join(other_parts)
    return text


def _believable(pieces: tuple[str, ...], values: list[str]) -> bool:
    """A template with few words of its own takes short values only; one sentence does not swallow two."""
    long = [i for i, v in enumerate(values) if v.count(" ") >= WORDS]
    own = _letters(pieces)
    if long and own < SURER:
        return False
    if own < SUREST and not all(MARKS & {*pieces[i], *pieces[i + 1]} for i in long):
        return False
    return any("; " in p for p in pieces) or not any("; " in v for v in values)


def _letters(pieces: tuple[str, ...]) -> int:
    return sum(c.isalpha() for piece in pieces for c in piece)


def _word(value: str, exact: dict[str, str]) -> str:
    return exact.get(value, value)


def _best(text: str, made: list[tuple[str, Template]]) -> tuple[Template, list[str]] | None:
    """The template with the most fixed text that fits the whole sentence."""
    for longest, template in made:
        values = _values(text, template[0]) if longest in text else None
        if values is not None and _believable(template[0], values):
            return template, values
    return None


def _values(text: str, pieces: tuple[str, ...]) -> list[str] | None:
    """What stands between the fixed pieces, each found as early as may be; None where they do not fit. Linear in the text."""
    first, *middle, last = pieces
    if not text.startswith(first) or not text.endswith(last) or len(text) < len(first) + len(last):
        return None
    end, at, values = len(text) - len(last), len(first), []
    for piece in middle:
        there = text.find(piece, at + 1, end) if piece else -1
        if there < 0:
            return None
        values.append(text[at:there])
        at = there + len(piece)
    values.append(text[at:end])
    return values if all(values) else None


@lru_cache
def _known(lang: str) -> tuple[dict[str, str], list[tuple[str, Template]]]:
    """(sentences without values, templates with the most fixed text first) of every file of that language. With each
    template its longest piece, so that most are passed over at a glance."""
    entries = dict(catalogue(lang))
    for file in sorted(CATALOGUES.glob(f"{lang}-*.toml")):
        for table in tomllib.loads(file.read_text("utf-8")).values():
            entries |= {k: v for k, v in table.items() if v}
    exact, made = {}, []
    for english, other in entries.items():
        english, other = _merged(english, other)
        pieces, names = _split(english)
        if not names:
            plain, told = (x.replace("{{", "{").replace("}}", "}") for x in (english, other))
            exact[plain] = told
            exact.setdefault(plain[:1].lower() + plain[1:], told)  # within another sentence
        elif _letters(pieces) >= SURE and len(set(names)) == len(names):
            made.append((max(pieces, key=len), (pieces, names, _plain(other))))
    return exact, sorted(made, key=lambda t: -sum(map(len, t[1][0])))


def _merged(english: str, other: str) -> tuple[str, str]:
    """`{listed}{more}` is one value to whoever finds the two in a sentence, if they stand together in both languages."""
    for run in RUN.findall(english):
        if run in other:
            first = run[: run.index("}") + 1]
            english, other = english.replace(run, first, 1), other.replace(run, first, 1)
    return english, other


def _split(template: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    pieces, names = [""], []
    for literal, name, *_ in string.Formatter().parse(template):
        pieces[-1] += literal
        if name is not None:
            names.append(name)
            pieces.append("")
    return tuple(pieces), tuple(names)


def _plain(template: str) -> str:
    """Without formats: the values are texts already."""
    out = ""
    for literal, name, *_ in string.Formatter().parse(template):
        out += literal.replace("{", "{{").replace("}", "}}") + ("" if name is None else f"{{{name}}}")
    return out
