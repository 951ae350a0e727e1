"""DeepSpeed's engine on stdout, with the lines that DeepSpeed-Chat prints between them.

`step=10, skipped=6, lr=[…], mom=[…]`, `RunningAvgSamplesPerSec=…, MaxMemAllocated=22.95GB`, `OVERFLOW! … Skipping step.`
Every rank may print an overflow and ranks tear each other's lines: `skipped=` is the reliable counter.
"""

from __future__ import annotations

import re
from pathlib import Path

from papertrain.monitor.names import signal_of
from papertrain.monitor.reader import LineParser, Reader
from papertrain.monitor.readers._hf import overflow
from papertrain.monitor.readers._text import NUMBER, confidence, head_lines, number
from papertrain.monitor.readers.text import pairs_of
from papertrain.monitor.table import NO_STEP, Table

STEP = re.compile(r"\bstep=(\d+), skipped=(\d+), lr=\[([^\]]*)\]")
TIMER = re.compile(
    r"global_step=(\d+), RunningAvgSamplesPerSec=([\d.naif]+), CurrSamplesPerSec=([\d.naif]+)(?:, MemAllocated=([\d.]+)GB, MaxMemAllocated=([\d.]+)GB)?"
)
CHAT = re.compile(r"epoch: (\d+)\s*\|\s*step: (\d+)\s*\|(.*)")
PAIR = re.compile(
    rf"(?<![\w])((?:[A-Za-z_][\w ]{{0,40}})?(?:loss|ppl|perplexity|reward score|scores[^:,]{{0,60}}|acc[^:,]{{0,60}}))\s*:\s*({NUMBER})"
)
EPOCH = re.compile(r"Epoch (\d+)/(\d+)")
GRAD_OVERFLOW = re.compile(
    r"Grad overflow on iteration|Overflow detected\. Skipping step|Reducing dynamic loss scale from"
)


def sniff(head: bytes, path: Path) -> float:
    hits = sum(1 for line in head_lines(head) if STEP.search(line) or "RunningAvgSamplesPerSec=" in line)
    return confidence(hits, 0.9)


def start(table: Table) -> LineParser:
    step = NO_STEP
    micro = 0

    def parse(line: str, n: int) -> None:
        nonlocal step, micro
        if "OVERFLOW" in line:
            overflow(table, line, n, step)
            return
        if "skipped=" in line and (m := STEP.search(line)):
            step = int(m[1])
            rates = [v for c in m[3].split(",") if (v := number(c)) is not None]
            table.row(
                [("skipped steps", float(m[2])), *([("learning_rate", rates[0])] if rates else [])], line=n, step=step
            )
        if "RunningAvg" in line and (m := TIMER.search(line)):
            pairs = [("samples per second", number(m[3]) or 0.0)]
            if m[4]:
                pairs += [("memory allocated GB", float(m[4])), ("max memory allocated GB", float(m[5]))]
            table.row(pairs, line=n, step=int(m[1]))
        elif m := CHAT.search(line):
            micro = int(m[2])
            found = [(k.strip(), v) for k, t in PAIR.findall(m[3]) if (v := number(t)) is not None]
            table.row(found, line=n, step=micro, epoch=float(m[1]))
        elif "loss" in line or "ppl" in line or "reward score" in line or "acc (" in line:
            found = [(k.strip(), v) for k, t in PAIR.findall(line) if (v := number(t)) is not None]
            if not found and "loss" in line and len(line) < 2000:
                found = [(k, v) for k, v in pairs_of(line) if signal_of(k) != "other"]
            if found:
                reward = "reward score" in line
                table.row(found, line=n, step=micro if reward else step)
        elif GRAD_OVERFLOW.search(line) and len(table.overflows) < 100_000:
            table.overflows.append((step, n, 0.0))

    return parse


READER = Reader(
    id="deepspeed",
    sniff=sniff,
    start=start,
    needles=(
        b"OVERFLOW",
        b"skipped=",
        b"RunningAvg",
        b"loss",
        b"ppl",
        b"reward score",
        b"acc (",
        b"overflow",
        b"Overflow",
        b"Reducing dynamic",
        b"step: ",
    ),
    what="DeepSpeed stdout",
)
