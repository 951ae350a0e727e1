"""One module per verb, one function of the same name in it. The folder is the list; a verb is imported when it is used."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from papertrain.core.report import Report

Verb = Callable[..., Report]


def names() -> list[str]:
    """Every verb, by the files of this folder."""
    return sorted(p.stem for p in Path(__file__).parent.glob("*.py") if not p.stem.startswith("_"))


def load(name: str) -> Verb:
    """The function of a verb, with what holds for all of them. Every face gets it here."""
    from papertrain.verbs._govern import governed

    verb: Verb = getattr(import_module(f"papertrain.verbs.{name}"), name)
    return governed(name, verb)


def __getattr__(name: str) -> Any:
    if name in names():
        return load(name)
    raise AttributeError(name)
