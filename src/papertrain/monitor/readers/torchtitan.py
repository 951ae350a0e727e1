"""torchtitan: `step: 10  loss: 8.12345  grad_norm: 1.2345  memory: 33.1GiB(41.8%)  tps: 7,123  tflops: 300.12  mfu: 40.1%`, in colours."""

from __future__ import annotations

import re
from pathlib import Path

from papertrain.monitor.reader import LineParser, Reader
from papertrain.monitor.readers._text import NUMBER, confidence, head_lines, number
from papertrain.monitor.table import Table

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
ROW = re.compile(r"(validate )?step:\s*(\d+)\s+(loss:.*)")
PAIR = re.compile(rf"([\w ]{{1,40}}?):\s*({NUMBER})(GiB|MiB|%)?(?:\(({NUMBER})%\))?")


def sniff(head: bytes, path: Path) -> float:
    hits = sum(
        1
        for line in head_lines(head)
        if (m := ROW.search(COLOUR.sub("", line))) and ("memory:" in m[3] or "tps:" in m[3])
    )
    return confidence(hits, 0.96)


def start(table: Table) -> LineParser:
    def parse(line: str, n: int) -> None:
        if "step:" not in line:
            return
        m = ROW.search(COLOUR.sub("", line))
        if not m:
            return
        pairs = []
        for name, value, unit, percent in PAIR.findall(m[3]):
            found = number(value)
            if found is None:
                continue
            name = {"tps": "tokens per second", "memory": f"memory {unit}"}.get(name.strip(), name.strip())
            pairs.append((f"validation {name}" if m[1] else name, found))
            if percent and (p := number(percent)) is not None:
                pairs.append(("memory percent", p))
        table.row(pairs, line=n, step=int(m[2]))

    return parse


READER = Reader(id="torchtitan", sniff=sniff, start=start, what="torchtitan log")
