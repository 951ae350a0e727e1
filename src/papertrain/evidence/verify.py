"""Verification of a bundle, offline and without the workspace: digests, sources of the numbers, the numbers themselves."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec

from papertrain.core.errors import PapertrainError
from papertrain.core.evidence import damage, mean_of, same, superseded
from papertrain.core.results import Evidence
from papertrain.core.texts import say
from papertrain.core.values import Value
from papertrain.evidence.bundle import Archive
from papertrain.evidence.tables import contradictions, is_table


class Fault(Value, frozen=True, kw_only=True):
    file: str
    says: str


class Verdict(Value, frozen=True, kw_only=True):
    """What was held against what. missing: what the package itself says that it lacks."""

    files: int
    numbers: int
    reread: int
    faults: tuple[Fault, ...]
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


Recompute = Callable[[str, bytes], dict[str, float]]
"""File name and content of raw outputs → metric name → its value, computed anew."""

CLAIM = re.compile(r"^[^:]+: (?P<metric>\S+) on ")


def verify(archive: Archive, recompute: Recompute) -> Verdict:
    """Every file against the manifest, every number against its source, every computed number computed anew.

    Raises PapertrainError where there is no manifest.
    """
    listed, missing = _manifest(archive)
    faults, notes = [], []
    present = set(archive.names()) - {"MANIFEST.json"}
    for name, entry in listed.items():
        if name not in present:
            faults.append(Fault(file=name, says="listed in the manifest and missing"))
        elif hashlib.sha256(archive.read(name)).hexdigest() != entry.get("sha256"):
            faults.append(Fault(file=name, says="changed since the package was made: its digest differs"))
    faults += [Fault(file=name, says="not in the manifest") for name in sorted(present - set(listed))]
    entries = _evidence(archive, present)
    reread = 0

    @cache
    def computed(name: str) -> dict[str, float]:
        return recompute(name, archive.read(name))

    if "evidence.jsonl" in present:
        text = archive.read("evidence.jsonl").decode("utf-8", "replace")
        faults += [Fault(file="evidence.jsonl", says=told) for told in damage(text)]
    old = superseded(entries, lambda file: file in present)
    for number in entries:
        if number.status == "missing" or number.value is None or number.id in old:
            continue
        said, found = _read_again(archive, listed, present, number, computed)
        if not said and (mean := mean_of(number, entries)) is not None:
            found = True
            said = "" if same(number.value, mean) else f"evidence says {number.value}, the {number.pointer} is {mean}"
        if said:
            faults.append(Fault(file=number.file, says=f"{number.id}: {said}"))
        reread += found
    faults += [
        Fault(file=f"{d.file}:{d.line}", says=d.says)
        for d in contradictions(
            ((n, archive.read(n).decode("utf-8", "replace")) for n in sorted(present) if is_table(n)), entries
        )
    ]
    left = sum(1 for e in entries if e.value is not None and e.id not in old) - reread
    if old:
        notes.append(
            say("{n} earlier readings were replaced by later ones of the same claim, and were passed over", n=len(old))
            if len(old) > 1
            else say("one earlier reading was replaced by a later one of the same claim, and was passed over")
        )
    if left:
        notes.append(
            say(
                "{n} numbers have a source with no pointer that can be followed here: their digest was held, their value was not read again",
                n=left,
            )
        )
    return Verdict(
        files=len(listed),
        numbers=len(entries),
        reread=reread,
        faults=tuple(faults),
        notes=tuple(notes),
        missing=missing,
    )


def _manifest(archive: Archive) -> tuple[dict[str, dict[str, Any]], tuple[str, ...]]:
    """(its files, what it says is missing from the package)."""
    try:
        content = json.loads(archive.read("MANIFEST.json"))
        files = content["files"]
        assert isinstance(files, dict) and all(isinstance(v, dict) for v in files.values())
        missing = content.get("missing", [])
        assert isinstance(missing, list)
    except (OSError, KeyError):
        raise PapertrainError(
            "no MANIFEST.json: not a bundle that `papertrain package` wrote", code="no-bundle", file=archive.path
        ) from None
    except (ValueError, TypeError, AssertionError):
        raise PapertrainError("MANIFEST.json is damaged", code="no-bundle", file=archive.path) from None
    return files, tuple(map(str, missing))


def _evidence(archive: Archive, present: set[str]) -> list[Evidence]:
    if "evidence.jsonl" not in present:
        return []
    found = []
    for line in archive.read("evidence.jsonl").decode("utf-8", "replace").splitlines():
        try:
            found.append(msgspec.json.decode(line, type=Evidence))
        except msgspec.MsgspecError:
            continue
    return found


def _read_again(
    archive: Archive,
    listed: dict[str, dict[str, Any]],
    present: set[str],
    entry: Evidence,
    computed: Callable[[str], dict[str, float]],
) -> tuple[str, bool]:
    """(what is wrong with the number, or nothing; whether its value was read again)."""
    if entry.file not in present:
        return f"its source {entry.file} is not in the package", False
    known = {listed.get(entry.file, {}).get("source_sha256"), listed.get(entry.file, {}).get("sha256")}
    if entry.sha256 and entry.sha256 not in known:
        return "its source has changed since the number was read (stale)", False
    try:
        value = follow(archive.read(entry.file), entry.pointer)
    except (ValueError, KeyError, IndexError, TypeError):
        return "", False
    if value is None and entry.status == "verified" and (m := CLAIM.match(entry.claim)):
        value = computed(entry.file).get(m["metric"])
    if value is None:
        return "", False
    if isinstance(entry.value, (int, float)) and isinstance(value, (int, float)):
        if not math.isclose(float(entry.value), float(value), rel_tol=1e-9, abs_tol=1e-12):
            return f"evidence says {entry.value}, the file says {value} ({entry.pointer})", True
        return "", True
    return (
        ("", True) if str(entry.value) == str(value) else (f"evidence says {entry.value}, the file says {value}", True)
    )


def follow(data: bytes, pointer: str) -> Any:
    """The value at a JSON pointer (`/a/0/b`), `line N: column` of a CSV, or None where the pointer is neither."""
    if pointer.startswith("/"):
        here: Any = json.loads(data)
        for part in pointer[1:].split("/"):
            part = part.replace("~1", "/").replace("~0", "~")
            here = here[int(part)] if isinstance(here, list) else here[part]
        return here
    if pointer.startswith("line ") and ":" in pointer:
        number, column = pointer[5:].split(":", 1)
        rows = list(csv.reader(io.StringIO(data.decode("utf-8", "replace"))))
        text = rows[int(number) - 1][rows[0].index(column.strip())]
        return float(text)
    return None
