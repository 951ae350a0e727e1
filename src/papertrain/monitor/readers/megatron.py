"""Megatron-LM and its relatives: `iteration 8/ 100 | … | lm loss: 2.1E+00 | loss scale: 1.0 | grad norm: 0.912 |`.

The `lm loss` field is left out when the loss is NaN (the printer tests `avg >= 0.0`), so a missing field is read as NaN.
"""

from __future__ import annotations

import re
from math import nan
from pathlib import Path

from papertrain.monitor.reader import LineParser, Reader
from papertrain.monitor.readers._text import confidence, head_lines, number
from papertrain.monitor.table import Table

TRAIN = re.compile(r"\biteration\s+(\d+)/\s*(\d+)\s*\|(.*)")
VALID = re.compile(r"validation loss at (?:iteration\s+(\d+)|[^|]*?)\s*(?:on [^|]*)?\|(.*)")


def sniff(head: bytes, path: Path) -> float:
    hits = sum(1 for line in head_lines(head) if TRAIN.search(line) and "elapsed time per iteration" in line)
    return confidence(hits, 0.96)


def fields(text: str) -> list[tuple[str, float]]:
    found = []
    for part in text.split("|"):
        name, colon, value = part.rpartition(":")
        if colon and (v := number(value.strip())) is not None:
            found.append((name.strip(), v))
    return found


def skipped(pairs: list[tuple[str, float]]) -> bool:
    """A window of nothing but skipped steps (fp16 overflow) has no loss either, and no NaN."""
    row = dict(pairs)
    return row.get("number of skipped iterations", 0.0) > 0 and not row.get("number of nan iterations")


def start(table: Table) -> LineParser:
    had_loss = ""

    def parse(line: str, n: int) -> None:
        nonlocal had_loss
        if "iteration" not in line:
            return
        if "validation loss" in line and (m := VALID.search(line)):
            pairs = [(f"validation {k}", v) for k, v in fields(m[2])]
            table.row(pairs, line=n, step=int(m[1]) if m[1] else -1)
        elif m := TRAIN.search(line):
            pairs = fields(m[3])
            whole = line.rstrip().endswith("|")
            if not whole and len(pairs) < 3:
                table.skip(n, "line cut short")
                return
            names = {k.replace("_", " ") for k, _ in pairs}
            if "lm loss" in names:
                had_loss = next(k for k, _ in pairs if k.replace("_", " ") == "lm loss")
            elif had_loss and whole and names & {"grad norm", "loss scale", "learning rate"} and not skipped(pairs):
                pairs.append((had_loss, nan))
                table.facts.setdefault("missing_loss_line", n)
            table.facts["max_steps"] = float(m[2])
            table.row(pairs, line=n, step=int(m[1]))

    return parse


READER = Reader(id="megatron", sniff=sniff, start=start, needles=(b"iteration",), what="Megatron-LM stdout")
