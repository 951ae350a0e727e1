"""`dcgmi dmon -e 203,1002`: `#Entity   GPUTL   SMACT`, rows `GPU 0     61      0.367`, `N/A`, header repeated."""

from __future__ import annotations

import re
from pathlib import Path

from papertrain.monitor.reader import LineParser, Reader
from papertrain.monitor.readers import _smi
from papertrain.monitor.readers._text import head_lines, number
from papertrain.monitor.table import Table

HEADER = re.compile(r"^#\s*(?:Entity|GPU-I\S*)\s+([A-Z].*)$")
ROW = re.compile(r"^\s*(?:GPU|GPU-I)\s+(\d+)\s+(.*)$")
NAMES = {
    "GPUTL": "utilization.gpu",
    "SMACT": "sm_active",
    "POWER": "power.draw",
    "FBUSD": "memory.used",
    "FBTTL": "memory.total",
    "DRAMA": "dram_active",
}


def sniff(head: bytes, path: Path) -> float:
    return (
        0.95
        if any(HEADER.match(line) for line in head_lines(head, 20)) and any(ROW.match(x) for x in head_lines(head, 40))
        else 0.0
    )


def start(table: Table) -> LineParser:
    names: list[str] = []

    def parse(line: str, n: int) -> None:
        nonlocal names
        if m := HEADER.match(line):
            names = m[1].split()
        elif names and (m := ROW.match(line)):
            cells = m[2].split()
            if len(cells) != len(names):
                table.skip(n, f"{len(cells)} columns where the header has {len(names)}")
                return
            values = [(NAMES.get(k, k.lower()), v) for k, c in zip(names, cells) if (v := number(c)) is not None]
            _smi.add(table, m[1], values, n)

    return parse


READER = Reader(id="dcgmi", sniff=sniff, start=start, what="dcgmi dmon", telemetry=True)
