"""JSON lines with any key names: a training loop's own log, torchtune's JSON, DETR's `log.txt`, fairseq's text log."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from papertrain.monitor.reader import LineParser, Reader
from papertrain.monitor.readers import _jsonl
from papertrain.monitor.readers._text import as_number
from papertrain.monitor.table import Table

METRIC = re.compile(
    r"loss|acc|reward|(^|[_/])(lr|f1|ppl|bleu|map|epoch|step|kl)($|[_/])|perplexity|learning_rate|grad_norm|_step", re.I
)


def sniff(head: bytes, path: Path) -> float:
    rows = _jsonl.sample(head)
    if rows:
        good = sum(1 for r in rows if any(METRIC.search(k) and as_number(v) is not None for k, v in r.items()))
        logged = any("loss" in k.lower() or "step" in k.lower() for r in rows for k in r)
        return (0.8 if logged else 0.5) if good >= max(1, len(rows) // 2) else 0.0
    return 0.75 if re.search(rb'^[^{\n]{1,200}\{"[^{}\n]*"(?:[\w./ -]{0,60}loss|num_updates)"', head, re.M) else 0.0


def start(table: Table) -> LineParser:
    def note(row: dict[str, Any]) -> None:
        event = row.get("event")
        if event is not None:
            table.ended = event in ("end", "finished", "done")
        for key in ("total_steps", "max_steps", "num_train_epochs"):
            found = as_number(row.get(key))
            if found is not None:
                table.facts["max_steps" if key == "total_steps" else key] = found

    return _jsonl.start(table, note)


READER = Reader(id="jsonl", sniff=sniff, start=start, longest=1 << 20, what="JSON lines")
