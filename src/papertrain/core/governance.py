"""Shared governance texts: looked for, recorded with their digest, reported as unavailable. They cannot loosen anything.

They are prose for people. The one thing that a text can say to this program stands in its front matter, and only ever
makes it stricter: `minimum-mode: standard`.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from papertrain.core.files import sha256_file
from papertrain.core.values import Mode, Value

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
        if os.path.lexists(folder / ".git"):
            break
    home = os.environ.get("PAPERCRAFT_HOME")
    folders.append(Path(home) / PLACE if home else Path.home() / ".papercraft" / PLACE)
    found, missing = [], []
    for name in NAMES:
        file = next((f / name for f in folders if _readable(f / name)), None)
        if file is None:
            missing.append(
                f"governance/{name}: not found in {PLACE} here or above, nor in the PaperCraft folder; built-in safety rules apply"
            )
        else:
            found.append(GovernanceText(name=name, path=str(file), sha256=sha256_file(file)))
    return found, missing


def _readable(path: Path) -> bool:
    try:
        return path.is_file() and os.access(path, os.R_OK)
    except (OSError, ValueError):
        return False


FRONT = re.compile(r"\A---\r?\n(.*?)\r?\n---", re.DOTALL)
MINIMUM = re.compile(r"^minimum-mode:\s*standard\s*$", re.MULTILINE)


def at_least(mode: Mode) -> Mode:
    """The mode, or the stricter one that a found text asks for. A what-if stays one: it writes and spends nothing."""
    if mode != "quick":
        return mode
    for text in find_governance()[0]:
        try:
            with Path(text.path).open(encoding="utf-8", errors="replace") as f:
                front = FRONT.match(f.read(8192))
        except OSError:
            continue
        if front and MINIMUM.search(front[1]):
            return "standard"
    return mode
