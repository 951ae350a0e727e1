"""Which files a data set is: one file, the shards of a folder, or an entry of LLaMA-Factory's `dataset_info.json`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from papertrain.core.errors import PapertrainError, nearest
from papertrain.core.values import Value
from papertrain.data.formats import Layout, from_dataset_info
from papertrain.facts.config import local_path, read_json

_ENDS = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet", ".arrow", ".txt")
_NOT_DATA = {
    "dataset_info.json",
    "dataset_infos.json",
    "dataset_dict.json",
    "state.json",
    "config.json",
    "package.json",
}


class Sources(Value, frozen=True, kw_only=True):
    """The files, in order, and the layout where something besides the rows states it."""

    files: tuple[Path, ...]
    layout: Layout | None = None
    notes: tuple[str, ...] = ()


def find_sources(path: Path | str) -> Sources:
    """`data.jsonl`, a folder, `dataset_info.json:name` (or `folder:name`). Raises PapertrainError."""
    text = str(path)
    if "\0" in text or len(text) > 4096:
        raise PapertrainError("is not a path", code="missing-file", file=text[:80].replace("\0", "?"))
    file = local_path(text)
    if not file.exists() and ":" in text:
        base, _, name = text.rpartition(":")
        place = local_path(base)
        info = place / "dataset_info.json" if place.is_dir() else place
        if info.name == "dataset_info.json" and info.is_file():
            return _entry(info, name)
    if file.is_dir():
        return _folder(file)
    if file.name == "dataset_info.json" and file.is_file():
        table = _entries(file)
        if table:
            return _entry(file, next(iter(table)) if len(table) == 1 else None)
    return Sources(files=(file,))


def _entries(info: Path) -> dict[str, dict[str, Any]]:
    return {
        k: v
        for k, v in read_json(info, limit=32_000_000).items()
        if isinstance(v, dict) and ("file_name" in v or "hf_hub_url" in v or "ms_hub_url" in v or "script_url" in v)
    }


def _entry(info: Path, name: str | None) -> Sources:
    table = _entries(info)
    if name is None:
        raise PapertrainError(
            f"names {len(table)} data sets: say which, as {info}:NAME",
            code="which-dataset",
            file=info,
            ask=sorted(table)[:20],
        )
    if name not in table:
        raise PapertrainError(
            f"has no data set {name!r}", code="unknown-dataset", file=info, nearest=nearest(name, table)
        )
    entry = table[name]
    given = entry.get("file_name")
    if not isinstance(given, str):
        raise PapertrainError(
            f"{name!r} lies on a hub, not in a file",
            code="remote-dataset",
            file=info,
            ask=["the data set as a file on this machine"],
        )
    place = info.parent / given
    files = _shards(place) if place.is_dir() else (place,)
    return Sources(
        files=files, layout=from_dataset_info(entry), notes=(f"columns as {info.name} states them for {name}",)
    )


def _folder(folder: Path) -> Sources:
    info = folder / "dataset_info.json"
    if info.is_file() and (table := _entries(info)):
        return _entry(info, next(iter(table)) if len(table) == 1 else None)
    files = _shards(folder)
    train = tuple(f for f in files if re.search(r"(^|[-_./])train([-_./]|$)", f.relative_to(folder).as_posix()))
    chosen = train or files
    notes = (
        (f"{len(chosen)} of {len(files)} files in the folder: those that are named train",)
        if train and len(train) < len(files)
        else ()
    )
    return Sources(files=chosen, notes=notes)


def _shards(folder: Path) -> tuple[Path, ...]:
    """The data files of a folder and of its first level. All must be of one kind."""
    found = sorted(f for pattern in ("*", "*/*") for f in folder.glob(pattern) if f.is_file() and _is_data(f))
    if not found:
        raise PapertrainError(
            "has no data file in it",
            code="missing-file",
            file=folder,
            ask=["a file: jsonl, json, csv, tsv, txt, parquet or arrow"],
        )
    kinds = {_end(f) for f in found}
    if len(kinds) > 1:
        raise PapertrainError(
            f"has files of several kinds ({', '.join(sorted(kinds))}): name one",
            code="which-file",
            file=folder,
            ask=[str(f) for f in found[:10]],
        )
    return tuple(found)


def _end(file: Path) -> str:
    name = re.sub(r"\.(gz|zst|bz2|xz)$", "", file.name.lower())
    return "." + name.rsplit(".", 1)[-1]


def _is_data(file: Path) -> bool:
    return _end(file) in _ENDS and file.name not in _NOT_DATA and not file.name.startswith((".", "README"))


def licence_of(files: tuple[Path, ...]) -> str | None:
    """What the data set's own README says, as data set cards do. Never guessed."""
    for folder in dict.fromkeys(f.parent for f in files):
        readme = folder / "README.md"
        try:
            if not readme.is_file() or readme.stat().st_size > 2_000_000:
                continue
            text = readme.read_text("utf-8", "replace")
        except OSError:
            continue
        card = re.match(r"---\s*\n(.*?)\n---", text, re.S)
        stated = re.search(r"^license:[ \t]*(?:\n[ \t]*-[ \t]*)?([\w.+-]+)", card[1], re.M) if card else None
        if stated:
            return stated[1]
    return None
