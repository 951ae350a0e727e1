"""The laws: numbers that rules are made of, one TOML per law, a source on each.

    law("learning_rate").get("full.sft.base")            2e-05
    law("learning_rate").source("full.sft")              Source(kind="paper", …)

A table may name its `source`; a table without one takes its parent's. `[sources.x]` says where it was read.
"""

from __future__ import annotations

import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any

from papertrain.core.values import Contest, Source

FOLDER = Path(__file__).parent


class Law:
    """One file of this folder. Paths are dotted: `method.full.sft`."""

    def __init__(self, name: str, table: dict[str, Any]) -> None:
        self.name = name
        self.table = table

    def get(self, path: str, default: Any = None) -> Any:
        """The number or table at a dotted path."""
        found: Any = self.table
        for part in path.split("."):
            if not isinstance(found, dict) or part not in found:
                return default
            found = found[part]
        return found

    def source(self, path: str = "") -> Source:
        """Where the number at a path was read: its own table's source, else the nearest parent's."""
        parts = path.split(".") if path else []
        for n in range(len(parts), -1, -1):
            table = self.get(".".join(parts[:n])) if n else self.table
            if isinstance(table, dict) and isinstance(table.get("source"), str):
                return self.named_source(table["source"])
        raise KeyError(f"{self.name}.toml: {path or 'the file'} has no source")

    def named_source(self, name: str) -> Source:
        said = self.table["sources"][name]
        return Source(kind=said["kind"], ref=said["ref"], read_on=said.get("read_on"))

    def contests(self, path: str) -> tuple[Contest, ...]:
        """What disagrees with the number at a path."""
        return tuple(Contest(ref=c["ref"], says=c["says"]) for c in self.get(f"{path}.contested_by", ()))


@lru_cache
def law(name: str) -> Law:
    """The law of that file name."""
    return Law(name, tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8")))


def laws() -> list[str]:
    """Every law there is."""
    return sorted(p.stem for p in FOLDER.glob("*.toml"))
