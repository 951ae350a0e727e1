"""Rows of accelerator counters: one row per card and moment."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from math import nan

from papertrain.monitor.table import Table

FORMATS = (
    "%Y/%m/%d %H:%M:%S.%f",
    "%Y/%m/%d %H:%M:%S",
    "%Y-%m-%d %H:%M:%S.%f",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%dT%H:%M:%S.%f",
    "%Y-%m-%dT%H:%M:%S",
    "%Y%m%d %H:%M:%S",
)


def moment(text: str) -> float:
    """Seconds since 1970 of a time stamp (taken as local), or NaN."""
    text = text.strip()
    for form in FORMATS:
        try:
            return datetime.strptime(text, form).timestamp()
        except (ValueError, OverflowError):
            continue
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return nan


def add(table: Table, card: str, values: Iterable[tuple[str, float]], line: int, time: float = nan) -> None:
    """The values of one card; memory in percent is derived where its total stands beside it."""
    row = dict(values)
    used, total = row.get("memory.used"), row.get("memory.total")
    if used is not None and total:
        row["memory.percent"] = 100 * used / total
    table.row(((f"{k}/{card}", v) for k, v in row.items()), line=line, time=time)
