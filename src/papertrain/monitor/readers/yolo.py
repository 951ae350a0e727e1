"""The console of YOLOv5 to v12 and YOLOv7: a table whose rows are redrawn while an epoch runs.

`Epoch GPU_mem box_loss cls_loss dfl_loss Instances Size`, then ` 3/100  2.3G  1.2  0.9  1.1  24  640: 100%|██| 38/38`, and after it
`Class Images Instances P R mAP50 mAP50-95` with its row `all`. The last row of an epoch holds its means.
"""

from __future__ import annotations

import re
from math import isfinite
from pathlib import Path

from papertrain.monitor.reader import LineParser, Reader
from papertrain.monitor.readers._text import NUMBER, confidence, head_lines, number
from papertrain.monitor.table import Table

HEAD = re.compile(r"^\s+Epoch\s+gpu_mem\s+(.*?)\s+(?:labels|instances|targets)\s+(?:img_)?size\s*$", re.I)
ROW = re.compile(rf"^\s+(\d{{1,6}})/(\d{{1,6}})\s+[\d.]+[GMK]i?B?\s+((?:{NUMBER}\s+){{1,12}}?)\d+\s+\d+:\s")
SCORES = re.compile(r"^\s+Class\s+Images\s+(?:Labels|Instances|Targets)\s+(.*?):?\s*(?:\d+%.*)?$")
ALL = re.compile(rf"^\s+all\s+\d+\s+\d+\s+((?:{NUMBER}\s*){{1,12}})$")
COLOUR = re.compile(r"\x1b\[[0-9;]*[mK]")
NAMES = {"p": "precision", "r": "recall", "box(p": "precision", "r)": "recall"}


def sniff(head: bytes, path: Path) -> float:
    lines = [COLOUR.sub("", x) for x in head_lines(head)]
    return confidence(sum(1 for x in lines if ROW.match(x)), 0.94) if any(HEAD.match(x) for x in lines) else 0.0


def start(table: Table) -> LineParser:
    terms: list[str] = []
    scores: list[str] = []
    held: tuple[int, int, list[tuple[str, float]]] | None = None
    at = -1

    def flush() -> None:
        nonlocal held
        if held is not None:
            step, line, pairs = held
            table.row(pairs, line=line, step=step, epoch=float(step))
        held = None

    def parse(line: str, n: int) -> None:
        nonlocal terms, scores, held, at
        if "\x1b" in line:
            line = COLOUR.sub("", line)
        if m := HEAD.match(line):
            terms = [f"train/{x if x.endswith('loss') else x + '_loss'}" for x in m[1].lower().split()]
        elif m := ROW.match(line):
            step = int(m[1])
            if step < at:
                flush()
            if held is not None and held[0] != step:
                flush()
            at = step
            table.facts["num_train_epochs"] = table.facts["max_steps"] = float(m[2])
            pairs = [
                (k, v) for k, x in zip(terms, m[3].split()) if k != "train/total_loss" and (v := number(x)) is not None
            ]
            held = (step, n, pairs)
            if "100%" in line or not all(isfinite(v) for _, v in pairs):
                flush()
        elif m := SCORES.match(line):
            flush()
            scores = [NAMES.get(x, x) for x in m[1].lower().replace("@", "_").rstrip("):").split()]
        elif scores and (m := ALL.match(line)):
            row = [(f"metrics/{k}", v) for k, x in zip(scores, m[1].split()) if (v := number(x)) is not None]
            table.row(row, line=n, step=max(at, 0), epoch=float(max(at, 0)))

    return parse


READER = Reader(id="yolo", sniff=sniff, start=start, what="the console of YOLO")
