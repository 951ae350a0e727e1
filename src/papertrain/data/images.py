"""Folders of pictures, one folder per label, as image classification reads them."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from papertrain.core.models import DatasetProfile

_ENDS = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff", ".gif", ".ppm")


def image_folder(path: Path | str) -> DatasetProfile | None:
    """The pictures of `folder/label/…` (or of `folder/train/label/…`) counted by label. None: it is no such folder."""
    root = Path(path)
    try:
        if not root.is_dir():
            return None
        train = next((d for d in (root / "train", root / "training") if d.is_dir()), root)
        labels = sorted(d for d in train.iterdir() if d.is_dir() and not d.name.startswith("."))
    except (OSError, ValueError):
        return None
    counts: Counter[str] = Counter()
    digest = hashlib.sha256()
    size = 0
    for folder in labels:
        for name, n in _pictures(folder):
            counts[folder.name] += 1
            size += n
            digest.update(f"{folder.name}/{name}\0{n}\n".encode("utf-8", "surrogateescape"))
    total = sum(counts.values())
    if len(counts) < 2:
        return None
    beside = () if train is root else (f"the pictures in {train.name}/; other folders beside it are not counted",)
    return DatasetProfile(
        path=str(path), sha256=digest.hexdigest(), format="image classification (folder)", rows=total, examples=total, bytes=size,
        trainable_tokens=total, labels=dict(counts.most_common()), columns={"label": "name of the folder"}, exact=True,
        notes=(*beside, "the sha256 is that of the names and sizes of the pictures, not of their contents"),
    )  # fmt: skip


def _pictures(folder: Path) -> Iterator[tuple[str, int]]:
    with os.scandir(folder) as found:
        for entry in sorted(found, key=lambda e: e.name):
            if entry.name.lower().endswith(_ENDS) and entry.is_file():
                yield entry.name, entry.stat().st_size
