"""What a folder is: what a run wrote and was started with is a record, read by `watch` and `diagnose`, and never mended."""

from __future__ import annotations

from pathlib import Path

from papertrain.core.files import json_object
from papertrain.core.workspace import has_checkpoint
from papertrain.run.checkpoints import STATES

WRITTEN = frozenset({"run", "command", "words", "smoke"})
"""What a record.json of `launch` holds at least one of."""


def of_a_run(folder: Path) -> bool:
    """Whether a run wrote the folder: its record, a trainer's state, a saved adapter, or the script's arguments beside what
    came of them. A file of such a name alone may be anybody's."""
    if any((folder / name).is_file() for name in STATES):
        return True
    if (folder / "adapter_config.json").is_file() and any(folder.glob("adapter_model.*")):
        return True
    if (folder / "args.json").is_file() and ((folder / "train_log.jsonl").is_file() or has_checkpoint(folder)):
        return True
    record = folder / "record.json"
    return record.is_file() and bool(WRITTEN & set(json_object(record) or {}))
