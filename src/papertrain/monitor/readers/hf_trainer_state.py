"""`trainer_state.json` of the Hugging Face Trainer, and other JSON documents that hold a list of rows, or one list per name
(Keras' `history.history`: `{"loss": [2.1, 1.7], "val_loss": [2.0, 1.8]}`, a row an epoch).

Written with Python's json, so NaN stands bare; a file that was cut is read up to the cut.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from papertrain.monitor.reader import LARGEST_DOCUMENT, Reader
from papertrain.monitor.readers._hf import add_row
from papertrain.monitor.readers._text import as_number, as_step
from papertrain.monitor.table import Table

ROWS = re.compile(r'"(?:log_history|history|logs)"\s*:\s*\[')
COLUMNS = re.compile(r'"[\w./ -]{0,60}(?:loss|acc|accuracy)\w{0,20}"\s*:\s*\[\s*(?:-?\d|NaN|Infinity)')
FACT = re.compile(r'"(max_steps|num_train_epochs|global_step|eval_steps|save_steps|logging_steps|epoch|train_batch_size)"\s*:\s*([-\d.eE+]+)')  # fmt: skip


def sniff(head: bytes, path: Path) -> float:
    text = head[:200_000].lstrip(b"\xef\xbb\xbf \t\r\n")
    if text[:1] == b"{":
        if b'"log_history"' in head:
            return 0.99
        if COLUMNS.search(text.decode("utf-8", "replace")):
            return 0.7
        many_lines = head[:4000].count(b"\n{") > 0
        return 0.6 if ROWS.search(head.decode("utf-8", "replace")) and not many_lines else 0.0
    if text[:1] == b"[" and re.match(rb'\[\s*\{\s*"', text):
        return 0.7 if re.search(rb'"(loss|train_loss|eval_loss|step|epoch)"', text) else 0.0
    return 0.0


def start(table: Table) -> Callable[[Path], None]:
    def read(path: Path) -> None:
        with path.open("rb") as f:
            text = f.read(LARGEST_DOCUMENT).decode("utf-8-sig", "replace")
        if not ROWS.search(text) and COLUMNS.search(text) and by_name(table, text):
            return
        begin = ROWS.search(text)
        at = begin.end() if begin else text.find("[") + 1
        outside = text[: begin.start()] if begin else ""
        end = rows(table, text, at)
        for name, value in FACT.findall(outside + text[end:]):
            found = as_number(value)
            if found is not None:
                table.facts[name] = found
        steps, top = table.facts.get("global_step"), table.facts.get("max_steps")
        if isinstance(steps, float) and isinstance(top, float) and 0 < top <= steps:
            table.ended = True

    return read


def rows(table: Table, text: str, at: int) -> int:
    """Every object of the list that begins at `at`; returns where the list ended."""
    decode = json.JSONDecoder().raw_decode
    line, seen = text.count("\n", 0, at) + 1, at
    while True:
        at = skip_blank(text, at)
        if at >= len(text) or text[at] == "]":
            return at
        line, seen = line + text.count("\n", seen, at), at
        try:
            row, end = decode(text, at)
        except (ValueError, RecursionError):
            table.skip(line, "damaged row")
            nxt = text.find("{", at + 1)
            if nxt < 0:
                return len(text)
            at = nxt
            continue
        if isinstance(row, dict):
            add_row(table, row, line)
        at = end


def by_name(table: Table, text: str) -> bool:
    """A list per name: the i-th values are those of epoch i. False for a document that is cut or is something else."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return False
    held = (
        {k: v for k, v in document.items() if isinstance(v, list) and len(v) > 1} if isinstance(document, dict) else {}
    )
    length = max((len(v) for v in held.values()), default=0)
    for i in range(length):
        row = [
            (k, x)
            for k, v in held.items()
            if i < len(v) and (x := as_number(v[i])) is not None and k not in ("epoch", "epochs", "step", "steps")
        ]
        steps = held.get("step") or held.get("steps") or []
        at = as_number(steps[i]) if i < len(steps) else None
        table.row(row, line=1, step=i + 1 if at is None else as_step(at), epoch=float(i + 1))
    return length > 0


def skip_blank(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n,":
        at += 1
    return at


READER = Reader(id="hf_trainer_state", sniff=sniff, start=start, kind="whole", what="Hugging Face trainer_state.json")
