"""torchtune: `Step 1 | loss:2.31 lr:2e-05 tokens_per_second_per_gpu:912.3 peak_memory_active:21.4 grad_norm:1.2`."""

from __future__ import annotations

import re
from pathlib import Path

from papertrain.monitor.reader import LineParser, Reader
from papertrain.monitor.readers._text import NUMBER, confidence, head_lines, number
from papertrain.monitor.table import Table

ROW = re.compile(r"^Step (\d+) \| (\S.*)$")
PAIR = re.compile(rf"([\w/.-]{{1,80}}):({NUMBER})(?=\s|$)")


def sniff(head: bytes, path: Path) -> float:
    return confidence(sum(1 for line in head_lines(head) if (m := ROW.match(line)) and PAIR.match(m[2])), 0.96)


def start(table: Table) -> LineParser:
    def parse(line: str, n: int) -> None:
        if not line.startswith("Step "):
            return
        m = ROW.match(line)
        pairs = [(k, v) for k, t in PAIR.findall(m[2]) if (v := number(t)) is not None] if m else []
        if m and pairs:
            table.row(pairs, line=n, step=int(m[1]))
        else:
            table.skip(n, "line cut short")

    return parse


READER = Reader(id="torchtune", sniff=sniff, start=start, needles=(b"Step ",), what="torchtune log")
