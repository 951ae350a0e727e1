"""What a person did wrong, what we refuse, and what is our own fault."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from papertrain.core.counts import agreed
from papertrain.core.sentences import translated
from papertrain.core.texts import say


class PapertrainError(Exception):
    """The user's input is wrong or missing (exit 2): one line that says what, where, what was expected, the nearest name.

    code: a stable kebab-case word for programs. ask: what to supply. command: a command that would work.
    No secret ever enters a message; the sink redacts all the same.
    """

    exit = 2

    def __init__(
        self,
        says: str,
        *,
        code: str = "bad-input",
        file: str | Path | None = None,
        line: int = 0,
        nearest: str | None = None,
        ask: Iterable[str] = (),
        command: str | None = None,
    ) -> None:
        says = agreed(says)
        super().__init__(says)
        self.says = says
        self.code = code
        self.file = None if file is None else str(file)
        self.line = line
        self.nearest = nearest
        self.ask = list(ask)
        self.command = command

    def error(self) -> dict[str, Any]:
        """`data.error` of the envelope."""
        where = None if self.file is None else {"file": self.file, "line": self.line}
        return {
            "code": self.code,
            "says": translated(self.says),
            "where": where,
            "nearest": self.nearest,
            "ask": [translated(a) for a in self.ask],
            "command": self.command,
        }

    def one_line(self) -> str:
        """`file:line: what; did you mean …?`"""
        place = "" if self.file is None else f"{self.file}:{self.line}: " if self.line else f"{self.file}: "
        if self.file is not None and self.says.startswith(self.file):
            place = ""
        hint = say("; did you mean {name}?", name=self.nearest) if self.nearest else ""
        return " ".join(f"{place}{translated(self.says)}{hint}".split())


class Refused(PapertrainError):
    """Not confirmed, not authorised, evidence missing, or unsafe (exit 3)."""

    exit = 3


def of_system(error: OSError, file: str | Path | None = None) -> PapertrainError:
    """What the system refused (a name too long, no permission, a file that went away, a full disk), as the user's error."""
    import os

    file = error.filename if isinstance(error.filename, str) else file
    # The number is asked, not the text: libraries put whole sentences there.
    why = (os.strerror(error.errno) if error.errno else str(error) or type(error).__name__).lower()
    return PapertrainError(f"the system refuses this: {why}", code="system", file=file)


def nearest(name: str, names: Iterable[str], cutoff: float = 0.55) -> str | None:
    """The valid name that was probably meant, or None."""
    table = {n.lower(): n for n in names}
    found = difflib.get_close_matches(name.lower(), list(table), n=1, cutoff=cutoff)
    return table[found[0]] if found else None
