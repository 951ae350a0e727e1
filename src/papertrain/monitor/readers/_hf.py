"""Rows of the Hugging Face Trainer, wherever they were found."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isnan
from typing import Any

from papertrain.monitor.readers._text import as_step, flat, number, pick, progress
from papertrain.monitor.table import NO_STEP, Table

OVERFLOW = re.compile(r"OVERFLOW!.*?Attempted loss scale:\s*([\d.e+]+)(?:, reducing to ([\d.e+]+))?", re.I)


def add_row(table: Table, row: Mapping[str, Any], line: int, step: int = NO_STEP) -> None:
    """One dict. The closing row (`train_runtime`) is a summary, not a point of the curve."""
    pairs = list(flat(row))
    if "train_runtime" in row or "train_samples_per_second" in row:
        summary = {k: v for k, v in pairs if k.startswith("train_") or k == "total_flos"}
        table.facts["summary"] = summary
        table.facts["summary_line"] = line
        table.ended = True
        table.rows += 1
        return
    epoch = pick(pairs, ("epoch",))
    if table.ended and not isnan(epoch) and epoch < table.last_epoch - 0.01 and any("loss" in k for k, _ in pairs):
        table.another_run()
    table.last_epoch = epoch if not isnan(epoch) else table.last_epoch
    counted = progress(row)
    if counted is not None:
        step, table.facts["max_steps"] = counted
    if step == NO_STEP:
        found = pick(pairs, ("step", "global_step"))
        step = as_step(found) if not isnan(found) else NO_STEP
    table.row((p for p in pairs if p[0] not in ("step", "epoch")), line=line, step=step, epoch=epoch)


def overflow(table: Table, text: str, line: int, step: int = NO_STEP) -> bool:
    """A line in which DeepSpeed says that it skipped a step."""
    m = OVERFLOW.search(text)
    if not m:
        return False
    scale = number(m[2] or m[1])
    if len(table.overflows) < 100_000:
        table.overflows.append((step, line, scale if scale is not None else 0.0))
    return True
