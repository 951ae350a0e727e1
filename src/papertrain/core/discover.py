"""One file, one thing: the folder is the list."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any


def discover(package: ModuleType, name: str) -> dict[str, Any]:
    """The `name` of every module in `package`, by id. A module whose name starts with `_` is a helper of the others.

    Raises AttributeError for a file without it, ValueError for an id that is taken.
    """
    found: dict[str, Any] = {}
    for info in iter_modules(package.__path__, package.__name__ + "."):
        if info.name.rpartition(".")[2].startswith("_"):
            continue
        thing = getattr(import_module(info.name), name)
        if thing.id in found:
            raise ValueError(f"{info.name}: id {thing.id!r} is taken")
        found[thing.id] = thing
    return found
