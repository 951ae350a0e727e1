"""The checkpoints of a run: which are whole, which is the last good one. A bad one is moved aside, never removed."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

from papertrain.core.values import Value

NAME = re.compile(r"checkpoint-(\d+)")
ASIDE = "aside"
"""A folder beside the checkpoints that no trainer looks into when it resumes or removes old ones."""
STATES = ("progress.json", "trainer_state.json")
HEADER = 100 * 2**20
"""Bytes: no safetensors header is larger; a larger one is the start of something else."""


class Checkpoint(Value, frozen=True, kw_only=True):
    """One folder. problem: why a run cannot go on from it; empty where nothing is wrong with it."""

    path: Path
    step: int
    problem: str = ""


def checkpoints(folder: Path) -> list[Checkpoint]:
    """All of a run, oldest first, each looked into."""
    found = []
    for path in folder.glob("checkpoint-*"):
        if (m := NAME.fullmatch(path.name)) is not None and path.is_dir():
            found.append(Checkpoint(path=path, step=int(m[1]), problem=next(problems(path), "")))
    return sorted(found, key=lambda c: c.step)


def problems(path: Path) -> Iterator[str]:
    """What is wrong with the files of one checkpoint, as far as their own formats tell without loading them."""
    try:
        files = sorted(p for p in path.rglob("*") if p.is_file())
    except OSError as error:
        yield f"it cannot be read: {(error.strerror or str(error)).lower()}"
        return
    if not files:
        yield "it is empty"
    for file in files:
        try:
            if file.suffix == ".safetensors":
                yield from _safetensors(file)
            elif file.suffix in (".pt", ".pth", ".bin") and file.stat().st_size == 0:
                yield f"{file.name} is empty"
            elif file.suffix in (".pt", ".pth", ".bin"):
                yield from _zip(file)
            elif file.suffix == ".json":
                json.loads(file.read_text("utf-8"))
        except (OSError, ValueError, RecursionError):
            yield f"{file.name} cannot be read"
    state = next((path / name for name in STATES if (path / name).is_file()), None)
    if state is None and not any(p.name.startswith("global_step") for p in path.iterdir()):
        yield f"none of {', '.join(STATES)} is in it: it was not finished"


def _safetensors(file: Path) -> Iterator[str]:
    size = file.stat().st_size
    with file.open("rb") as f:
        length = int.from_bytes(f.read(8), "little")
        if size < 8 or length > min(HEADER, size - 8):
            yield f"{file.name} ends inside its header"
            return
        header = json.loads(f.read(length))
    ends = [v["data_offsets"][1] for k, v in header.items() if k != "__metadata__" and isinstance(v, dict)]
    if 8 + length + max(ends, default=0) > size:
        yield f"{file.name} has {size:,} bytes where its header promises {8 + length + max(ends):,}"


def _zip(file: Path) -> Iterator[str]:
    """torch.save writes a zip archive, whose directory stands at its end: a file that was cut has none."""
    with file.open("rb") as f:
        if f.read(4) != b"PK\x03\x04":
            return  # an older format, or no archive at all: nothing can be said of it
    if not zipfile.is_zipfile(file):
        yield f"{file.name} has no directory at its end: it was cut"


def keep_good(folder: Path, before: int | None = None) -> tuple[Checkpoint | None, list[str]]:
    """The last good checkpoint, and what was moved aside so that a run goes on from it. before: a checkpoint of this
    step or later holds what the failure left in the weights."""
    told: list[str] = []
    good: Checkpoint | None = None
    for c in reversed(checkpoints(folder)):
        late = before is not None and c.step >= before
        if not c.problem and not late:
            good = c
            break
        why = c.problem or f"it was saved after the failure began at step {before}"
        told.append(f"{c.path.name} is set aside: {why}")
        _move(folder, c.path)
    return good, told


def _move(folder: Path, path: Path) -> None:
    place = folder / ASIDE
    place.mkdir(exist_ok=True)
    at = 1
    while (new := place / f"{path.name}.{at}").exists():
        at += 1
    path.rename(new)
