"""llm.c: `main.log` (`s:1 trl:10.9598 lr:0.000002 norm:15.24`, `s:250 tel:4.1`) and its stdout."""

from __future__ import annotations

import re
from pathlib import Path

from papertrain.monitor.reader import LineParser, Reader
from papertrain.monitor.readers._text import NUMBER, confidence, head_lines, number
from papertrain.monitor.table import Table

MAIN = re.compile(r"^s:(\d+) ((?:trl|tel|eval):.*)$")
PAIR = re.compile(rf"(\w{{1,20}}):({NUMBER})")
OUT = re.compile(
    rf"^step\s+(\d+)/(\d+) \| loss\s{{1,8}}({NUMBER})[^|]*\|\s*norm\s{{1,8}}({NUMBER})[^|]*\|\s*lr\s{{1,8}}({NUMBER})(?:[^|]*\|\s*({NUMBER}) ms)?(?:.*?\|\s*({NUMBER}) tok/s)?"
)
VAL = re.compile(rf"^val loss\s{{1,8}}({NUMBER})")


def sniff(head: bytes, path: Path) -> float:
    return confidence(sum(1 for line in head_lines(head, 400) if MAIN.match(line) or OUT.match(line)), 0.96)


def start(table: Table) -> LineParser:
    step = -1

    def parse(line: str, n: int) -> None:
        nonlocal step
        if m := MAIN.match(line):
            pairs = [(k, v) for k, t in PAIR.findall(m[2]) if (v := number(t)) is not None]
            table.row(pairs, line=n, step=int(m[1]))
        elif m := OUT.match(line):
            step = int(m[1])
            table.facts["max_steps"] = float(m[2])
            names = ("loss", "grad norm", "lr", "step time ms", "tokens per second")
            table.row(
                ((k, v) for k, t in zip(names, m.groups()[2:]) if t and (v := number(t)) is not None), line=n, step=step
            )
        elif m := VAL.match(line):
            table.row([("val loss", number(m[1]) or 0.0)], line=n, step=max(step, 0))
        elif line.startswith(("s:", "step ")):
            table.skip(n, "line cut short")

    return parse


READER = Reader(id="llmc", sniff=sniff, start=start, needles=(b"s:", b"step ", b"val loss"), what="llm.c log")
