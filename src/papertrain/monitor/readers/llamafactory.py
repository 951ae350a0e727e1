"""LLaMA-Factory's `trainer_log.jsonl`: `current_steps`, `total_steps`, `loss`, `lr`, `epoch`, one object a line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from papertrain.monitor.reader import LineParser, Reader
from papertrain.monitor.readers import _jsonl
from papertrain.monitor.readers._text import as_number
from papertrain.monitor.table import Table

DURATION = re.compile(r"(?:(\d{1,5}) days?, )?(\d{1,3}):(\d{2}):(\d{2})")


def sniff(head: bytes, path: Path) -> float:
    rows = _jsonl.sample(head)
    return 0.97 if rows and sum("current_steps" in r for r in rows) >= len(rows) / 2 else 0.0


def start(table: Table) -> LineParser:
    def note(row: dict[str, Any]) -> None:
        total, at = as_number(row.get("total_steps")), as_number(row.get("current_steps"))
        if total is not None and total > 0:
            table.facts["max_steps"] = total
            table.ended = at is not None and at >= total
        seconds = duration(row.pop("elapsed_time", None))
        if seconds is not None:
            row["_timestamp"] = seconds
        for key in ("remaining_time", "percentage"):
            row.pop(key, None)
        row.pop("total_steps", None)

    return _jsonl.start(table, note)


def duration(text: Any) -> float | None:
    """`0:00:32`, `3 days, 17:51:32` as seconds since the start of the process."""
    m = DURATION.fullmatch(text) if isinstance(text, str) else None
    return 86400.0 * int(m[1] or 0) + 3600 * int(m[2]) + 60 * int(m[3]) + int(m[4]) if m else None


READER = Reader(id="llamafactory", sniff=sniff, start=start, longest=1 << 20, what="LLaMA-Factory trainer_log.jsonl")
