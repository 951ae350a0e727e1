"""LLaMA-Factory's `trainer_log.jsonl`: `current_steps`, `total_steps`, `loss`, `lr`, `epoch`, one object a line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from papertrain.monitor.reader import LineParser, Reader
from papertrain.monitor.readers import _jsonl
from papertrain.monitor.readers._text import as_number
from papertrain.monitor.table import Table


def sniff(head: bytes, path: Path) -> float:
    rows = _jsonl.sample(head)
    return 0.97 if rows and sum("current_steps" in r for r in rows) >= len(rows) / 2 else 0.0


def start(table: Table) -> LineParser:
    def note(row: dict[str, Any]) -> None:
        total, at = as_number(row.get("total_steps")), as_number(row.get("current_steps"))
        if total is not None and total > 0:
            table.facts["max_steps"] = total
            table.ended = at is not None and at >= total
        for key in ("elapsed_time", "remaining_time", "percentage"):
            row.pop(key, None)
        row.pop("total_steps", None)

    return _jsonl.start(table, note)


READER = Reader(id="llamafactory", sniff=sniff, start=start, what="LLaMA-Factory trainer_log.jsonl")
