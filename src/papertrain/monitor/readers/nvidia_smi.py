"""`nvidia-smi --query-gpu=… --format=csv -l N`: `timestamp, index, utilization.gpu [%], memory.used [MiB], power.draw [W]`."""

from __future__ import annotations

import re
from math import nan
from pathlib import Path

from papertrain.monitor.reader import LineParser, Reader
from papertrain.monitor.readers import _smi
from papertrain.monitor.readers._text import head_lines, number
from papertrain.monitor.table import Table

HEADER = re.compile(r"(^|,)\s*(utilization\.gpu|memory\.used|power\.draw)\b", re.I)
UNIT = re.compile(r"\s*(MiB|GiB|W|%|MHz|C)$")
KEPT = ("utilization.gpu", "memory.used", "memory.total", "power.draw", "temperature.gpu", "utilization.memory")


def sniff(head: bytes, path: Path) -> float:
    return 0.97 if any(HEADER.search(line) and "," in line for line in head_lines(head, 5)) else 0.0


def start(table: Table) -> LineParser:
    names: list[str] = []
    seen = 0

    def parse(line: str, n: int) -> None:
        nonlocal names, seen
        cells = [c.strip() for c in line.split(",")]
        if HEADER.search(line):
            names = [re.sub(r"\s*\[.*\]$", "", c).strip().lower() for c in cells]
            return
        if not names:
            return
        if len(cells) != len(names):
            table.skip(n, f"{len(cells)} cells where the header has {len(names)}")
            return
        row = dict(zip(names, cells))
        time = _smi.moment(row.get("timestamp", "")) if "timestamp" in row else nan
        card = row.get("index") or row.get("gpu") or row.get("uuid") or "0"
        values = [(k, v) for k in KEPT if k in row and (v := number(UNIT.sub("", row[k]))) is not None]
        if values:
            seen += 1
            _smi.add(table, card, values, n, time)
        else:
            table.skip(n, "no number in it")

    return parse


READER = Reader(id="nvidia_smi", sniff=sniff, start=start, what="nvidia-smi CSV", telemetry=True)
