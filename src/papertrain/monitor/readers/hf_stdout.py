"""Dicts that the Hugging Face Trainer (also TRL, axolotl, LLaMA-Factory) prints, amid progress bars.

`{'loss': 2.31, 'grad_norm': 1.25, 'learning_rate': 1.9e-05, 'epoch': 0.5}`, since transformers 5 with strings in place
of numbers. No step is printed: it is taken from tqdm's counter, else the rows are counted.
"""

from __future__ import annotations

import re
from pathlib import Path

from papertrain.monitor.reader import LineParser, Reader
from papertrain.monitor.readers._hf import add_row, overflow
from papertrain.monitor.readers._text import confidence, head_lines, number
from papertrain.monitor.table import NO_STEP, Table

DICT = re.compile(r"\{'[^{}]*\}")
PAIR = re.compile(r"'([^']{1,120})':\s*(?:'([^']*)'|(?:np\.float\d*\(|tensor\()?([-+\w.#]+))")
BAR = re.compile(r"(?:^|\s)\d{1,3}%\|[^|]*\|\s*(\d+)/(\d+)\s*\[")
TOTAL = re.compile(r"Total optimization steps\s*=\s*([\d,]+)")
EPOCHS = re.compile(r"Num Epochs\s*=\s*([\d,]+)")
ROW = re.compile(
    r"\{'(?:[\w./-]*loss|eval_[\w./-]+|rewards?/?[\w./-]*|train_runtime|objective/[\w./-]+|num_tokens|entropy|epoch|grad_norm|learning_rate|step_time)':"
)


def sniff(head: bytes, path: Path) -> float:
    return confidence(sum(1 for line in head_lines(head) if ROW.search(line)))


def start(table: Table) -> LineParser:
    counter = total = declared = 0

    def parse(line: str, n: int) -> None:
        nonlocal counter, total, declared
        if "|" in line and "%|" in line:
            for bar in BAR.finditer(line):
                at, of = int(bar[1]), int(bar[2])
                if (
                    of in (declared, total)
                    or (not declared and "{'" in line)
                    or (not declared and not total)
                    or (not declared and of > total)
                ):
                    counter, total = at, of
        if "{'" not in line:
            if "OVERFLOW" in line:
                overflow(table, line, n, counter or NO_STEP)
            elif "=" in line and (m := TOTAL.search(line)):
                declared = total = int(m[1].replace(",", ""))
                counter = 0
                table.facts["max_steps"] = float(declared)
            elif "=" in line and (m := EPOCHS.search(line)):
                table.facts["num_train_epochs"] = number(m[1])
            return
        whole = False
        for m in DICT.finditer(line):
            row = {k: (a or b) for k, a, b in PAIR.findall(m[0])}
            if row and any(number(v) is not None for v in row.values()):
                whole = True
                if "'loss'" in m[0] or "'eval_" in m[0] or "train_runtime" in row or "'epoch'" in m[0]:
                    add_row(table, row, n, counter if counter else NO_STEP)
        if not whole and ROW.search(line):
            table.skip(n, "row cut short")
        if total and not declared:
            table.facts["max_steps"] = float(total)

    return parse


READER = Reader(
    id="hf_stdout",
    sniff=sniff,
    start=start,
    needles=(b"{'", b"%|", b"OVERFLOW", b"Total optimization", b"Num Epochs"),
    what="dicts printed by the Hugging Face Trainer",
)
