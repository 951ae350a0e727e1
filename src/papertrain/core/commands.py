"""Commands that an answer names: they run as printed, whatever the names in them hold."""

from __future__ import annotations

import shlex
from pathlib import PurePath

from papertrain.core.spelled import spelled

INSIDE = str.maketrans({"\\": r"\\", "'": r"\'", "\n": r"\n"})
"""Signs that mean something inside of `$'…'`, in which a name that is no UTF-8 is written."""


def quoted(word: object) -> str:
    """A word for a shell. A path that starts with a dash gets `./`, so that it is no option."""
    text = str(word)
    if isinstance(word, PurePath) and text.startswith("-") and text != "-":
        text = f"./{text}"
    return shlex.quote(text) if spelled(text) == text else f"$'{spelled(text.translate(INSIDE))}'"


def line(*words: object) -> str:
    """`papertrain fix 'my run' D1.F1`."""
    return " ".join(map(quoted, words))
