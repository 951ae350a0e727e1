"""`nvidia-smi dmon`: two header lines that begin with `#` and come again, `-` for what is missing; columns by name."""

from __future__ import annotations

import re
from math import nan
from pathlib import Path

from papertrain.monitor.reader import LineParser, Reader
from papertrain.monitor.readers import _smi
from papertrain.monitor.readers._text import head_lines, number
from papertrain.monitor.table import Table

HEADER = re.compile(r"^#\s*(Date\s+Time\s+|Time\s+)?gpu\s+(.*\b(sm|pwr)\b.*)$", re.I)
NAMES = {
    "sm": "utilization.gpu",
    "mem": "utilization.memory",
    "pwr": "power.draw",
    "gtemp": "temperature.gpu",
    "fb": "memory.used",
}


def sniff(head: bytes, path: Path) -> float:
    return 0.97 if any(HEADER.match(line) for line in head_lines(head, 20)) else 0.0


def start(table: Table) -> LineParser:
    names: list[str] = []

    def parse(line: str, n: int) -> None:
        nonlocal names
        if line.startswith("#"):
            if HEADER.match(line):
                names = line.lstrip("# ").lower().split()
            return
        cells = line.split()
        if not names or not cells:
            return
        if len(cells) != len(names):
            table.skip(n, f"{len(cells)} columns where the header has {len(names)}")
            return
        row = dict(zip(names, cells))
        time = _smi.moment(f"{row['date']} {row['time']}") if "date" in row and "time" in row else nan
        values = [(NAMES[k], v) for k, c in row.items() if k in NAMES and (v := number(c)) is not None]
        _smi.add(table, row.get("gpu", "0"), values, n, time)

    return parse


READER = Reader(id="nvidia_dmon", sniff=sniff, start=start, what="nvidia-smi dmon", telemetry=True)
