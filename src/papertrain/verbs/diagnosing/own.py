"""An error of the user's own script that no class fits: where it stands, what it says, and what to look at there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from papertrain.core.commands import quoted
from papertrain.core.texts import say

if TYPE_CHECKING:
    from papertrain.diagnose.case import Case
    from papertrain.diagnose.trace import Exc, Own

PLAIN = frozenset({
    "NameError", "UnboundLocalError", "KeyError", "IndexError", "AttributeError", "TypeError", "ValueError", "AssertionError", "ZeroDivisionError",
    "FileNotFoundError", "PermissionError", "NotADirectoryError", "IsADirectoryError", "FileExistsError", "SyntaxError", "IndentationError", "JSONDecodeError",
    "UnicodeDecodeError", "ImportError", "ModuleNotFoundError", "RecursionError", "NotImplementedError", "StopIteration", "LookupError", "ArithmeticError",
})  # fmt: skip
"""What Python itself raises: the line says more than a second run with the device's checks."""
AROUND = 5


def error_of(case: Case) -> tuple[Exc, Own] | None:
    """The exception that the others follow from, where Python itself raised it, with its place in a file of the user's own."""
    root = case.root
    if root is None or root.own is None or kind(root) not in PLAIN:
        return None
    return root, root.own


def kind(error: Exc) -> str:
    return error.type.rpartition(".")[2]


def place(own: Own) -> str:
    return f"{Path(own.file).name}:{own.line}"


def where(own: Own) -> str:
    """`train.py:61 in build: ds = read(cfg)`."""
    inside = f" in {own.function}" if own.function and own.function != "<module>" else ""
    return place(own) + inside + (f": {own.code}" if own.code else "")


def means(error: Exc, own: Own) -> str:
    """What such an error means there, in one or two sentences of what the traceback says."""
    raised, text = kind(error), error.message.split("\n")[0]
    name = _between(text)
    if raised == "JSONDecodeError":
        return say("what this line reads is no JSON ({text}): an empty or cut file, a comment in it, or a page of HTML in its place", text=text[:120])  # fmt: skip
    if raised in ("FileNotFoundError", "NotADirectoryError"):
        return say("there is no {name}: a relative path counts from the folder in which the program was started, which is not always the script's", name=name or text)  # fmt: skip
    if not own.last:
        return say(
            "it was raised inside of a library that this line calls: look at what the line gives it. {kind}: {text}",
            kind=raised,
            text=text[:160],
        )
    if raised in ("NameError", "UnboundLocalError") and name:
        return say(
            "{name} is used in this line and nothing has given it a value there: a slip of the keys, a missing import, or a branch that was not taken",
            name=name,
        )
    if raised == "KeyError":
        return say("there is no entry {name} in what this line looks it up in: print its keys in the line before", name=name or text)  # fmt: skip
    if raised == "AssertionError":
        condition = re.sub(r"^assert\s+", "", own.code).split(",")[0] if own.code.startswith("assert") else ""
        return say("the script asks that {condition}, and it does not hold: print both sides in the line before", condition=condition or text or "…")  # fmt: skip
    return say("Python's own words on this line: {kind}: {text}", kind=raised, text=text[:200])


def look_there(own: Own) -> str | None:
    """The lines around it, where the file lies here."""
    if not Path(own.file).is_file():
        return None
    return f"sed -n '{max(1, own.line - AROUND)},{own.line + AROUND}p' {quoted(Path(own.file))}"


def _between(text: str) -> str:
    """What stands in quotes: the name, the key, the path."""
    found = re.findall(r"'([^']{1,120})'|\"([^\"]{1,120})\"", text)
    return next((a or b for a, b in found), "")
