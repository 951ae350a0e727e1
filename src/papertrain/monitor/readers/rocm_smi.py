"""`rocm-smi --showuse --showmeminfo vram --csv`, called again and again: `device,GPU use (%),VRAM Total Memory (B),VRAM Total Used Memory (B)`."""

from __future__ import annotations

import re
from pathlib import Path

from papertrain.monitor.reader import LineParser, Reader
from papertrain.monitor.readers import _smi
from papertrain.monitor.readers._text import head_lines, number
from papertrain.monitor.table import Table

HEADER = re.compile(r"^device,.*(GPU use \(%\)|VRAM Total|Power \(W\))")


def sniff(head: bytes, path: Path) -> float:
    return 0.97 if any(HEADER.match(line) for line in head_lines(head, 40)) else 0.0


def name_of(column: str) -> str:
    low = column.lower()
    if "gpu use" in low:
        return "utilization.gpu"
    if "used memory" in low:
        return "memory.used"
    if "total memory" in low:
        return "memory.total"
    return "power.draw" if "power (w)" in low else ""


def start(table: Table) -> LineParser:
    names: list[str] = []

    def parse(line: str, n: int) -> None:
        nonlocal names
        if line.startswith("device,"):
            names = [name_of(c) for c in line.split(",")]
        elif names and line.startswith("card"):
            cells = line.split(",")
            if len(cells) != len(names):
                table.skip(n, f"{len(cells)} cells where the header has {len(names)}")
                return
            values = [(k, v) for k, c in zip(names, cells) if k and (v := number(c)) is not None]
            _smi.add(table, cells[0].removeprefix("card"), values, n)

    return parse


READER = Reader(id="rocm_smi", sniff=sniff, start=start, what="rocm-smi CSV", telemetry=True)
