"""nanoGPT: `iter 10: loss 9.8973, time 460.33ms, mfu 48.08%` and `step 0: train loss 10.5, val loss 10.4`."""

from __future__ import annotations

import re
from pathlib import Path

from papertrain.monitor.reader import LineParser, Reader
from papertrain.monitor.readers._text import NUMBER, confidence, head_lines, number
from papertrain.monitor.table import Table

ITER = re.compile(rf"^iter (\d+): loss ({NUMBER})(?:, time ({NUMBER})ms)?(?:, mfu ({NUMBER})%)?(?:, lr ({NUMBER}))?")
EVAL = re.compile(rf"^step (\d+): train loss ({NUMBER}), val loss ({NUMBER})")


def sniff(head: bytes, path: Path) -> float:
    return confidence(sum(1 for line in head_lines(head) if ITER.match(line) or EVAL.match(line)), 0.96)


def start(table: Table) -> LineParser:
    names = ("loss", "step time ms", "mfu", "lr")

    def parse(line: str, n: int) -> None:
        if not line.startswith(("iter ", "step ")):
            return
        if m := ITER.match(line):
            pairs = [(k, v) for k, t in zip(names, m.groups()[1:]) if t and (v := number(t)) is not None]
            # mfu is -100 until it has been measured
            table.row([p for p in pairs if p != ("mfu", -100.0)], line=n, step=int(m[1]))
        elif m := EVAL.match(line):
            table.row(
                [("eval on train loss", number(m[2]) or 0.0), ("val loss", number(m[3]) or 0.0)], line=n, step=int(m[1])
            )
        elif ":" in line:
            table.skip(n, "line cut short")

    return parse


READER = Reader(id="nanogpt", sniff=sniff, start=start, needles=(b"iter ", b"step "), what="nanoGPT log")
