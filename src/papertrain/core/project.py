"""`paper-project.yaml` of the paper's repository: read for context, never ours to write.

Changes are proposed as a diff that keeps comments and order; they are written only when the user authorises that file by
name, and only if it still has the content that the diff was made for.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from papertrain.core import yaml
from papertrain.core.errors import PapertrainError, Refused
from papertrain.core.files import read_text, sha256_file, unified
from papertrain.core.values import Value
from papertrain.core.writing import write_atomic

FILE = "paper-project.yaml"

# Our word for a key → how projects write it, at the top level or under `project:`.
NAMES: dict[str, tuple[str, ...]] = {
    "title": ("title", "name", "project"),
    "venue": ("venue", "conference", "journal", "target_venue"),
    "seeds": ("seeds", "seed", "random_seeds"),
    "baselines": ("baselines", "baseline", "compare_with"),
    "datasets": ("datasets", "data_sets", "dataset", "data"),
    "hardware": ("hardware", "compute", "gpus", "gpu"),
    "authors": ("authors", "author"),
    "anonymity": ("anonymity", "anonymous", "double_blind", "review"),
}
LISTS = {"seeds", "baselines", "datasets", "authors"}


class Understood(Value, frozen=True, kw_only=True):
    """One key of the file. `as_` is our word for it, or empty where it means nothing to this tool."""

    key: str
    line: int
    as_: str
    value: Any


class Project(Value, frozen=True, kw_only=True):
    """What the file says, as far as it was understood; `keys` lists every key with what it was taken for."""

    path: str
    sha256: str
    keys: tuple[Understood, ...]

    def get(self, name: str) -> Any:
        """A value by our word for it; lists for what there can be several of. None where the file does not say."""
        found = next((k.value for k in self.keys if k.as_ == name), None)
        if name in LISTS and found is not None and not isinstance(found, list):
            return [found]
        return found

    def names(self, name: str) -> list[str]:
        """A list of names by our word for it: items that are tables are named by their `name` or `id`."""
        items = self.get(name) or []
        named = [i.get("name") or i.get("id") if isinstance(i, dict) else i for i in items]
        return [str(n) for n in named if n not in (None, "")]


def find_project(place: Path) -> Path | None:
    """The file in or above that folder, or None."""
    here = place.resolve()
    return next((folder / FILE for folder in (here, *here.parents) if os.access(folder / FILE, os.R_OK)), None)


def read_project(place: Path) -> Project | None:
    """What the project's file says, or None where there is none. Raises PapertrainError for one that cannot be read."""
    file = find_project(place)
    if file is None:
        return None
    doc = yaml.load(read_text(file, limit=2**20), str(file))
    if doc.value is not None and not isinstance(doc.value, dict):
        raise PapertrainError("a table of keys was expected", code="bad-project", file=file, line=1)
    keys: list[Understood] = []
    taken: set[str] = set()
    for key, value in (doc.value or {}).items():
        if key == "project" and isinstance(value, dict):
            keys += [_one(doc, (key, k), v, taken) for k, v in value.items()]
        else:
            keys.append(_one(doc, (key,), value, taken))
    return Project(path=str(file), sha256=sha256_file(file), keys=tuple(keys))


def _one(doc: yaml.Document, path: tuple[str, ...], value: Any, taken: set[str]) -> Understood:
    word = str(path[-1]).lower().replace("-", "_")
    name = next((n for n, words in NAMES.items() if word in words and n not in taken), "")
    taken.add(name)
    return Understood(key=".".join(map(str, path)), line=doc.line(*path), as_=name, value=value)


def proposal(project: Project, wanted: dict[str, Any]) -> tuple[str, str, list[str]]:
    """(the new text, the diff, the keys it sets) for what the study knows and the file does not say.

    Nothing that the file says is changed.
    """
    file = Path(project.path)
    raw = file.read_bytes()
    if hashlib.sha256(raw).hexdigest() != project.sha256:
        raise Refused("it changed while it was read", code="changed", file=file)
    text = raw.decode(_coding(raw), "replace").replace("\r\n", "\n")
    edits = [((name,), value) for name, value in wanted.items() if value and project.get(name) in (None, [], "")]
    edits = [
        (path, value)
        for path, value in edits
        if not any(k.key == path[0] and k.value is not None for k in project.keys)
    ]
    new = yaml.edit(text, edits, str(file)) if edits else text
    return new, unified(text, new, FILE), [path[0] for path, _ in edits]


def _coding(raw: bytes) -> str:
    """How the file is written: a mark at its start stays, as do the line ends."""
    if raw.startswith(b"\xef\xbb\xbf"):
        return "utf-8-sig"
    return "utf-16" if raw.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8"


def encoded(new: str, old: bytes, file: Path) -> bytes:
    """The new text in the old file's own coding and line ends. Raises PapertrainError where the old one is not understood to
    its last byte: it would be damaged."""
    coding = _coding(old)
    try:
        text = old.decode(coding)
    except UnicodeDecodeError:
        raise PapertrainError(
            "it is not UTF-8, so it cannot be written without damage: change it by hand, or save it as UTF-8 first",
            code="bad-coding",
            file=file,
        ) from None
    if "\r\n" in text and "\n" not in text.replace("\r\n", ""):
        new = new.replace("\n", "\r\n")
    return new.encode(coding)


def write_project(project: Project, made_for: str, new: str, authorized: Sequence[str]) -> None:
    """Write the proposed text. Raises Refused unless that file was authorised by name and is the one of the proposal."""
    named, file = Path(project.path), Path(project.path).resolve()
    top = next((f for f in named.parent.resolve().parents if (f / ".git").exists()), named.parent.resolve())
    if named.is_symlink() and not file.is_relative_to(top):
        raise Refused(f"{FILE} is a link out of {top}: it is not followed", code="outside", file=named)
    if FILE not in authorized:
        raise Refused(f"{FILE} is not ours to write", code="not-authorized", file=file, ask=[f"--authorize {FILE}"])
    old = file.read_bytes()
    if hashlib.sha256(old).hexdigest() != made_for:
        raise Refused(f"{FILE} has changed since the diff was made: look at it again", code="changed", file=file)
    write_atomic(file, encoded(new, old, file))
