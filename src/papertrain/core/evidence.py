"""Evidence ids: every measured number can be walked back to a file, a line and a digest."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from papertrain.core.files import read_text, sha256_file, size_of
from papertrain.core.results import Evidence
from papertrain.core.spelled import meant
from papertrain.core.writing import Writer

FILE = "evidence.jsonl"
IDS = re.compile(r"\bE\d+\b")


def read_evidence(root: Path) -> list[Evidence]:
    """Every entry of the workspace, in order; a torn last line is passed over."""
    found: list[Evidence] = []
    try:
        text = read_text(root / FILE) if (root / FILE).exists() else ""
    except OSError:
        return found
    for line in text.split("\n"):
        try:
            found.append(msgspec.json.decode(line, type=Evidence))
        except (msgspec.MsgspecError, RecursionError):
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
    writer.expect(FILE, size_of(root / FILE))
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


def superseded(entries: Sequence[Evidence], there: Callable[[str], bool] = lambda file: True) -> set[str]:
    """Ids of entries that were read anew later: they stay in the file, and nothing rests on them any more.

    A later reading replaces an earlier one of the same claim in the same file, or in a file that is no longer there.
    """
    last = {(e.claim, e.seed, e.file): e.id for e in entries}
    newest = {(e.claim, e.seed): e.id for e in entries}
    return {
        e.id
        for e in entries
        if last[e.claim, e.seed, e.file] != e.id or (newest[e.claim, e.seed] != e.id and not there(e.file))
    }


def stale(root: Path, entries: Sequence[Evidence]) -> dict[str, str]:
    """Ids of the entries that hold no more, with the reason: their source changed after it was read, or what they rest on did."""
    old = superseded(entries, lambda file: meant(root, file).is_file())
    found: dict[str, str] = {}
    digests: dict[str, str | None] = {}
    for e in entries:
        if e.id in old or e.value is None or not e.sha256:
            continue
        if e.file not in digests:
            digests[e.file] = _digest(meant(root, e.file))
        if digests[e.file] is None:
            found[e.id] = f"{e.file} is not there any more"
        elif digests[e.file] != e.sha256:
            found[e.id] = f"{e.file} has changed since it was read"
        elif gone := [i for i in rests_on(e) if i in found or i in old]:
            found[e.id] = f"it rests on {', '.join(gone[:3])}, which {'holds' if len(gone) == 1 else 'hold'} no more"
        elif (mean := mean_of(e, entries)) is not None and not same(e.value, mean):
            found[e.id] = f"it says {e.value}, and the {e.pointer} is {mean}"
    return found


def mean_of(e: Evidence, entries: Sequence[Evidence]) -> float | None:
    """The mean of the entries that this one was computed from; None where it is none, or not all of them are there."""
    values = {x.id: x.value for x in entries}
    parts = [values.get(i) for i in rests_on(e)]
    numbers = [float(x) for x in parts if isinstance(x, (int, float)) and not isinstance(x, bool)]
    return sum(numbers) / len(numbers) if numbers and len(numbers) == len(parts) else None


def same(a: object, b: float) -> bool:
    """Whether a value is that number, but for the last digits of a float."""
    return isinstance(a, (int, float)) and math.isclose(float(a), b, rel_tol=1e-9, abs_tol=1e-12)


def damage(text: str) -> list[str]:
    """What is wrong with the lines themselves, which are only ever appended: one that cannot be read, a number that is gone or
    stands twice with two meanings, a value where nothing is said to have been measured."""
    told, seen = [], dict[str, Evidence]()
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            e = msgspec.json.decode(line, type=Evidence)
        except (msgspec.MsgspecError, RecursionError):
            told.append(f"line {number} cannot be read")
            continue
        if e.id in seen and _content(seen[e.id]) != _content(e):
            told.append(f"line {number}: {e.id} stands there a second time, and says something else")
        if e.status == "missing" and e.value is not None:
            told.append(f"line {number}: {e.id} is called missing and has the value {e.value}")
        seen[e.id] = e
    known = {int(i[1:]) for i in seen if re.fullmatch(r"E\d{1,9}", i)}
    gone = sorted(set(range(1, max(known, default=0) + 1)) - known) if max(known, default=0) < 10**6 else []
    if gone:
        told.append(
            f"{', '.join(f'E{n}' for n in gone[:5])}{f' and {len(gone) - 5} more' if len(gone) > 5 else ''} {'is' if len(gone) == 1 else 'are'} not there: lines were taken out"
        )
    return told


def rests_on(e: Evidence) -> list[str]:
    """The entries that this one was computed from: `mean of E3, E4`."""
    return IDS.findall(e.pointer) if e.pointer.startswith("mean of ") else []


def _digest(path: Path) -> str | None:
    try:
        return sha256_file(path) if path.is_file() else None
    except (OSError, ValueError):
        return None


def _content(e: Evidence) -> tuple[object, ...]:
    return (e.claim, e.value, e.file, e.sha256, e.pointer, e.unit, e.status, e.seed, e.reason)
