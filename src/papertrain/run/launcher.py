"""What a launcher is: a value that turns a program into the words that start it somewhere, and says whether it can."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from papertrain.core.program import Program, Variable
from papertrain.core.site import Site
from papertrain.core.values import Value


class Start(Value, frozen=True, kw_only=True):
    """The exact words of one start, seen from the workspace, with the variables they need."""

    words: tuple[str, ...]
    environment: tuple[Variable, ...]
    submits: bool = False
    script: str = ""
    checked_by: tuple[str, ...] = ()


class Place(Value, frozen=True, kw_only=True):
    """Where a program is started: the workspace, the interpreter, the run."""

    root: Path
    python: str
    search: tuple[str, ...]
    run: str
    hours: float | None = None
    gpus: bool = True
    site: Site = Site()
    preflight: tuple[str, ...] = ()


class Launcher(Value, frozen=True, kw_only=True):
    """One way to start. The folder `launchers/` is the list.

    fits: whether this launcher is the natural one for the program. ready: why it cannot be used here, or None.
    start: the words. A launcher that submits returns at once: its scheduler keeps the run.
    """

    id: str
    title: str
    fits: Callable[[Program], bool]
    ready: Callable[[Place], str | None]
    start: Callable[[Program, Place], Start]
