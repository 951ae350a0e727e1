"""Evidence ids: every measured number can be walked back to a file, a line and a digest."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from papertrain.core.files import Writer
from papertrain.core.results import Evidence

FILE = "evidence.jsonl"


def read_evidence(root: Path) -> list[Evidence]:
    """Every entry of the workspace, in order; a torn last line is passed over."""
    found: list[Evidence] = []
    try:
        lines = (root / FILE).read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return found
    for line in lines:
        try:
            found.append(msgspec.json.decode(line, type=Evidence))
        except msgspec.MsgspecError:
            continue
    return found


def number_evidence(known: Sequence[Evidence], new: Iterable[Evidence]) -> list[Evidence]:
    """The new entries with ids `E1`, `E2`, …; one that says the same as a known one keeps that one's id."""
    ids = {_content(e): e.id for e in known}
    top = max((int(e.id[1:]) for e in known if e.id[1:].isdigit()), default=0)
    numbered = []
    for entry in new:
        key = _content(entry)
        if key not in ids:
            top += 1
            ids[key] = f"E{top}"
        numbered.append(msgspec.structs.replace(entry, id=ids[key]))
    return numbered


def append_evidence(writer: Writer, root: Path, new: Iterable[Evidence]) -> list[Evidence]:
    """Stage the entries that are not there yet; returns all of them with their ids."""
    known = read_evidence(root)
    numbered = number_evidence(known, new)
    have = {e.id for e in known}
    for entry in numbered:
        if entry.id not in have:
            have.add(entry.id)
            stamped = (
                entry
                if entry.read_at
                else msgspec.structs.replace(entry, read_at=datetime.now(UTC).isoformat(timespec="seconds"))
            )
            writer.append(FILE, json.dumps(msgspec.to_builtins(stamped), ensure_ascii=False))
    return numbered


def _content(e: Evidence) -> tuple[object, ...]:
    return (e.claim, e.value, e.file, e.sha256, e.pointer, e.unit, e.status, e.seed, e.reason)
