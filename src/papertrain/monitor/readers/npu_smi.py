"""Ascend's `npu-smi info watch` (a table of columns) and `npu-smi info` (a box, several times in one file).

Shapes from the vendor's documentation; no real series was at hand.
"""

from __future__ import annotations

import re
from pathlib import Path

from papertrain.monitor.reader import LineParser, Reader
from papertrain.monitor.readers import _smi
from papertrain.monitor.readers._text import head_lines, number
from papertrain.monitor.table import Table

WATCH = re.compile(r"^\s*NpuID\(Idx\)\s+ChipId\(Idx\)\s+(.*)$")
COLUMN = re.compile(r"[A-Za-z][\w ]{0,30}?\([^)]{0,10}\)")
NAMES = {
    "pwr(w)": "power.draw",
    "ai core(%)": "utilization.gpu",
    "memory(%)": "memory.percent",
    "temp(c)": "temperature.gpu",
}
BOX = re.compile(r"^\|\s*NPU\s+Name\s*\|\s*Health", re.I)
TOP = re.compile(r"^\|\s*(\d+)\s+\S+\s*\|\s*\S+\s*\|\s*([\d.]+)\s+([\d.]+)\b")
BELOW = re.compile(
    r"^\|\s*(\d+)\s*(?:\d+\s*)?\|\s*[0-9A-Fa-f:.]+\s*\|\s*(\d+)\s+(\d+)\s*/\s*(\d+)(?:\s+(\d+)\s*/\s*(\d+))?"
)


def sniff(head: bytes, path: Path) -> float:
    return 0.95 if any(WATCH.match(line) or BOX.match(line) for line in head_lines(head, 200)) else 0.0


def start(table: Table) -> LineParser:
    names: list[str] = []
    card, power = "0", 0.0

    def parse(line: str, n: int) -> None:
        nonlocal names, card, power
        if m := WATCH.match(line):
            names = ["npu", "chip", *(c.lower() for c in COLUMN.findall(m[1]))]
        elif line.startswith("|"):
            if m := TOP.match(line):
                card, power = m[1], float(m[2])
            elif m := BELOW.match(line):
                used, total = (m[5], m[6]) if m[5] and float(m[6]) else (m[3], m[4])
                _smi.add(
                    table,
                    card,
                    [
                        ("utilization.gpu", float(m[2])),
                        ("memory.used", float(used)),
                        ("memory.total", float(total)),
                        ("power.draw", power),
                    ],
                    n,
                )
        elif names and line.strip()[:1].isdigit():
            cells = line.split()
            if len(cells) != len(names):
                table.skip(n, f"{len(cells)} columns where the header has {len(names)}")
                return
            values = [(NAMES[k], v) for k, c in zip(names, cells) if k in NAMES and (v := number(c)) is not None]
            _smi.add(table, cells[0], values, n)

    return parse


READER = Reader(id="npu_smi", sniff=sniff, start=start, what="npu-smi", telemetry=True)
