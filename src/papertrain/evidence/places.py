"""Folders outside of the workspace that its files name: who owns a disk, and for whom, is seen in its path."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from papertrain.evidence.joined import exact, joined

SYSTEM = ("bin", "boot", "dev", "etc", "lib", "lib64", "proc", "run", "sbin", "sys", "usr", "var")
"""The same on every machine."""
_PATH = re.compile(r"(?:\.\./)+[^\s\"'`:;,=<>|]+|(?<![\w.:/\]-])/(?:[^\s\"'`:;,=<>|/]+/)+[^\s\"'`:;,=<>|/]*")
_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]*://\S+")
READ = 4 * 2**20
MOST = 400
NAMING = ("study.toml", "commands.sh", "site.toml", "plans/*/plan.json", "plans/*/question.json", "runs/**/record.json", "**/debug/*.json", "**/debug/*.md", "configs/**/*.yaml", "configs/**/*.json", "configs/**/*.py")  # fmt: skip


def patterns(root: Path) -> list[re.Pattern[str]]:
    """The folders, longest first, each as it may be written: from the root of the disk, or as `../…`."""
    root = root.resolve()
    found = {f for f in (root, root.parent) if _tells(f)}
    for said in _named(root):
        path = Path(os.path.normpath(root / said))
        if path == root or root in path.parents or path in root.parents:
            continue
        found |= {f for f in path.parents if _tells(f) and (f == path.parent or len(f.parts) == 4)}
    inside, beside = [], []
    for folder in sorted(found, key=lambda f: (-len(f.parts), f))[:MOST]:
        inside.append(exact(str(folder)))
        parts = PurePosixPath(os.path.relpath(folder, root)).parts
        if parts[:1] == ("..",) and (tail := [p for p in parts if p != ".."]):
            beside.append(exact("/".join(tail)))
    ways = [(r"(?:(?:\.\./)*\.\.)?", inside), (r"(?:\.\./)+", beside)]
    return [re.compile(rf"{before}(?:{joined(names)})(?![\w-])") for before, names in ways if names]


def _tells(folder: Path) -> bool:
    return len(folder.parts) > 2 and folder.parts[1] not in SYSTEM


def _named(root: Path) -> Iterator[str]:
    """Paths in the files that name what lies outside."""
    seen: set[str] = set()
    for pattern in NAMING:
        for file in sorted(root.glob(pattern))[:MOST]:
            try:
                if file.is_symlink() or not file.is_file() or file.stat().st_size > READ:
                    continue
                text = file.read_text("utf-8", "replace")
            except OSError:
                continue
            if file.suffix == ".json":
                text = "\n".join(_strings(text))
            for m in _PATH.finditer(_ADDRESS.sub(" ", text)):
                if m[0] not in seen:
                    seen.add(m[0])
                    yield m[0]


def _strings(text: str) -> Iterator[str]:
    """Every string in a JSON text."""
    try:
        todo: list[Any] = [json.loads(text)]
    except (ValueError, RecursionError):
        return
    while todo:
        value = todo.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            todo += value.values()
        elif isinstance(value, list):
            todo += value
