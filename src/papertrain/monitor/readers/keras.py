"""Keras' progress bar: `Epoch 3/20`, then `120/120 ━━━ 2s 15ms/step - accuracy: 0.83 - loss: 0.43 - val_loss: 0.51`."""

from __future__ import annotations

import re
from pathlib import Path

from papertrain.monitor.reader import LineParser, Reader
from papertrain.monitor.readers._text import NUMBER, confidence, head_lines, number
from papertrain.monitor.table import Table

EPOCH = re.compile(r"^Epoch (\d+)/(\d+)\s*$")
BAR = re.compile(r"^\s*(\d+)/(\d+)\s.*?- ([\w ]{1,40}: .*)$")
PAIR = re.compile(rf"([A-Za-z]\w{{0,60}}): ({NUMBER})(?=\s|$)")


def sniff(head: bytes, path: Path) -> float:
    lines = head_lines(head)
    hits = sum(1 for line in lines if EPOCH.match(line))
    return confidence(hits, 0.94) if hits and any((m := BAR.match(x)) and PAIR.search(m[3]) for x in lines) else 0.0


def start(table: Table) -> LineParser:
    epoch = 0

    def parse(line: str, n: int) -> None:
        nonlocal epoch
        if line.startswith("Epoch ") and (m := EPOCH.match(line)):
            epoch = int(m[1])
            table.facts["num_train_epochs"] = table.facts["max_steps"] = float(m[2])
        elif "/" in line and (m := BAR.match(line)) and m[1] == m[2]:
            pairs = [(k, v) for k, t in PAIR.findall(m[3]) if (v := number(t)) is not None]
            table.row(pairs, line=n, step=epoch, epoch=float(epoch))

    return parse


READER = Reader(id="keras", sniff=sniff, start=start, what="Keras progress lines")
