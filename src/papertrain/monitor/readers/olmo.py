"""OLMo-core: `[step=10/1000,epoch=1,eta=…]`, then indented `    train/CE loss=2.345`."""

from __future__ import annotations

import re
from math import nan
from pathlib import Path

from papertrain.monitor.reader import LineParser, Reader
from papertrain.monitor.readers._text import NUMBER, confidence, head_lines, number
from papertrain.monitor.table import Table

HEAD = re.compile(r"\[step=(\d+)/(\d+)(?:,epoch=(\d+))?")
VALUE = re.compile(rf"^\s+([A-Za-z][\w/ ().-]*)=({NUMBER})\s*$")


def sniff(head: bytes, path: Path) -> float:
    return confidence(sum(1 for line in head_lines(head) if HEAD.search(line)), 0.95)


def start(table: Table) -> LineParser:
    step, epoch = -1, nan

    def parse(line: str, n: int) -> None:
        nonlocal step, epoch
        if "[step=" in line and (m := HEAD.search(line)):
            step, epoch = int(m[1]), float(m[3]) if m[3] else nan
            table.facts["max_steps"] = float(m[2])
        elif "=" in line and step >= 0 and (m := VALUE.match(line)) and (v := number(m[2])) is not None:
            table.row([(m[1], v)], line=n, step=step, epoch=epoch)

    return parse


READER = Reader(id="olmo", sniff=sniff, start=start, what="OLMo-core log")
