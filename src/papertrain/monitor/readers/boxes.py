"""Boxed tables of Stable-Baselines3, baselines and rsl_rl: `| train/loss | 0.03 |`, one block per iteration."""

from __future__ import annotations

import re
from pathlib import Path

from papertrain.monitor.reader import LineParser, Reader
from papertrain.monitor.readers._text import NUMBER, as_step, confidence, head_lines, number, pick
from papertrain.monitor.table import Table

ROW = re.compile(rf"^\|\s+([A-Za-z][\w/ ().-]{{0,60}}?)\s*\|\s*({NUMBER})\s*\|\s*$")
GROUP = re.compile(r"^\| ([a-z]+)/\s*\|\s*\|\s*$")
RULE = re.compile(r"^-{8,}\s*$")
STEPS = (
    "time/total_timesteps",
    "total_timesteps",
    "total timesteps",
    "time/iterations",
    "iterations",
    "nupdates",
    "serial_timesteps",
)


def sniff(head: bytes, path: Path) -> float:
    lines = head_lines(head)
    return confidence(sum(1 for x in lines if ROW.match(x)) // 4, 0.9) if any(RULE.match(x) for x in lines) else 0.0


def start(table: Table) -> LineParser:
    block: list[tuple[str, float]] = []
    group = ""

    def parse(line: str, n: int) -> None:
        nonlocal block, group
        if m := GROUP.match(line):
            group = m[1] + "/"
        elif (m := ROW.match(line)) and (v := number(m[2])) is not None:
            nested = line.startswith("|    ")
            block.append(((group if nested else "") + m[1].strip(), v))
        elif RULE.match(line) and block:
            table.row((p for p in block if p[0] not in STEPS), line=n, step=as_step(pick(block, STEPS)))
            block, group = [], ""

    return parse


READER = Reader(id="boxes", sniff=sniff, start=start, what="boxed tables")
