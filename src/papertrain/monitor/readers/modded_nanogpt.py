"""modded-nanogpt speed runs: `step:1/6200 train_loss:10.9184 train_time:74701ms step_avg:nanms`, after the program's source."""

from __future__ import annotations

import re
from pathlib import Path

from papertrain.monitor.reader import LineParser, Reader
from papertrain.monitor.readers._text import NUMBER, confidence, head_lines, number
from papertrain.monitor.table import Table

ROW = re.compile(
    rf"^step:(\d+)/(\d+) (train_loss|val_loss):({NUMBER})(?: train_time:({NUMBER})ms)?(?: step_avg:({NUMBER})ms)?"
)


def sniff(head: bytes, path: Path) -> float:
    return confidence(sum(1 for line in head_lines(head, 100_000) if ROW.match(line)), 0.96)


def start(table: Table) -> LineParser:
    def parse(line: str, n: int) -> None:
        if not line.startswith("step:"):
            return
        if m := ROW.match(line):
            table.facts["max_steps"] = float(m[2])
            table.row([(m[3], number(m[4]) or 0.0)], line=n, step=int(m[1]))
        else:
            table.skip(n, "line cut short")

    return parse


READER = Reader(id="modded_nanogpt", sniff=sniff, start=start, needles=(b"step:",), what="modded-nanogpt log")
