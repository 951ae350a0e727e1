"""Help texts in the user's language and in the width of his terminal.

A verb's docstring and the help of its parameters are the English text. `core/catalogues/help/<language>.toml` holds the
other language by paragraph, so that a paragraph whose English changed is told in English until it is translated again.
It is read only where a help is asked for in that language.
"""

from __future__ import annotations

import argparse
import inspect
import re
import shutil
import tomllib
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from papertrain.core.texts import CATALOGUES, language
from papertrain.core.wide import folded, width

WIDEST = 100
COMMENT_ROOM = 30
"""A comment that has less room beside its command stands on the next line."""


@lru_cache
def _catalogue(lang: str) -> dict[str, str]:
    file = CATALOGUES / "help" / f"{lang}.toml"
    return tomllib.loads(file.read_text("utf-8"))["help"] if file.is_file() else {}


def helped(text: str) -> str:
    """A sentence or paragraph of a help text in the user's language; English where it has none."""
    lang = language.get()
    one = " ".join(text.split())
    return text if lang == "en" else _catalogue(lang).get(one, text)


def first_line(doc: str | None) -> str:
    """What a verb does, in one sentence."""
    return helped(((doc or "").strip().splitlines() or [""])[0])


def paragraphs(doc: str | None) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """(a paragraph as one line, nothing) or (nothing, (command, comment) of each example), in their order."""
    for block in re.split(r"\n\s*\n", inspect.cleandoc(doc or "")):
        lines = [line.strip() for line in block.splitlines()]
        if not lines:
            continue
        if not re.match(r"(ssh \S+ .*\| )?papertrain [a-z]", lines[0]):
            yield " ".join(lines), []
            continue
        parts = [re.split(r"\s{2,}", line, maxsplit=1) for line in lines]
        yield "", [(p[0], p[1] if len(p) > 1 else "") for p in parts]


def described(doc: str | None, room: int) -> str:
    """A docstring as a terminal shows it: paragraphs filled, examples with their comments beside them."""
    parts = []
    for text, examples in paragraphs(doc):
        parts.append("\n".join(_examples(examples, room)) if examples else "\n".join(folded(helped(text), room)))
    return "\n\n".join(parts)


def _examples(examples: list[tuple[str, str]], room: int) -> Iterator[str]:
    column = max((len(c) for c, comment in examples if comment), default=0) + 3
    for command, comment in examples:
        if not comment:
            yield f"  {command}"
        elif 2 + column + COMMENT_ROOM <= room:
            first, *more = folded(helped(comment), room - column - 2)
            yield f"  {command.ljust(column)}{first}"
            yield from (" " * (column + 2) + line for line in more)
        else:
            yield f"  {command}"
            yield from (f"      {line}" for line in folded(helped(comment), room - 6))


def columns() -> int:
    """How wide a help is shown: the terminal, within reason."""
    return max(40, min(shutil.get_terminal_size().columns, WIDEST))


class Layout(argparse.RawDescriptionHelpFormatter):
    """argparse's layout with short usages, `-o, --output DIR` said once, and lines that know wide letters."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=columns())

    def add_usage(self, usage: Any, actions: Any, groups: Any, prefix: str | None = None) -> None:
        super().add_usage(usage, actions, groups, f"{helped('usage')}: ")

    def _split_lines(self, text: str, room: int) -> list[str]:
        return folded(text, room)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings:
            return super()._format_action_invocation(action)
        names = ", ".join(sorted(action.option_strings, key=len))
        value = "" if action.nargs == 0 else f" {self._format_args(action, action.dest.upper())}"
        return names + value


def aligned(rows: list[tuple[str, str]], column: int, room: int) -> Iterator[str]:
    """Two columns with a hanging indent; what is too long for the first stands over its text."""
    for left, text in rows:
        first, *more = folded(text, max(20, room - column))
        if width(left) + 2 > column:
            yield f"  {left}"
            more = [first, *more]
        else:
            yield f"  {left}".ljust(column) + first
        yield from (" " * column + line for line in more)
