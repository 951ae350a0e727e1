"""Shared governance texts: looked for, recorded with their digest, reported as unavailable. They cannot loosen anything."""

from __future__ import annotations

import os
from pathlib import Path

from papertrain.core.files import sha256_file
from papertrain.core.values import Value

NAMES = ("task-modes.md", "privacy-and-evidence.md", "artifact-contracts.md")
PLACE = Path("references/governance")


class GovernanceText(Value, frozen=True, kw_only=True):
    name: str
    path: str
    sha256: str


def find_governance(start: Path | None = None) -> tuple[list[GovernanceText], list[str]]:
    """(texts found, a sentence per text that is missing).

    Looked for in `references/governance/` of the folder and above it, up to the repository's root, then in
    `$PAPERCRAFT_HOME`, else `~/.papercraft`.
    """
    folders = []
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        folders.append(folder / PLACE)
        if (folder / ".git").exists():
            break
    home = os.environ.get("PAPERCRAFT_HOME")
    folders.append(Path(home) / PLACE if home else Path.home() / ".papercraft" / PLACE)
    found, missing = [], []
    for name in NAMES:
        file = next((f / name for f in folders if (f / name).is_file()), None)
        if file is None:
            missing.append(
                f"governance/{name}: not found in {PLACE} here or above, nor in the PaperCraft folder; built-in safety rules apply"
            )
        else:
            found.append(GovernanceText(name=name, path=str(file), sha256=sha256_file(file)))
    return found, missing
