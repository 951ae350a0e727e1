"""nanochat: `step 00010/21400 (0.05%) | loss: 9.31 | lrm: 1.00 | dt: 320ms | tok/sec: 1,234,567 | …`, `Step 00250 | Validation bpb: 1.1`."""

from __future__ import annotations

import re
from pathlib import Path

from papertrain.monitor.reader import LineParser, Reader
from papertrain.monitor.readers._text import NUMBER, confidence, head_lines, number
from papertrain.monitor.table import Table

ROW = re.compile(r"^[Ss]tep (\d+)(?:/(\d+))?(?: \([\d.]+%\))? \| (.*:.*)$")
PAIR = re.compile(rf"([\w/() .-]{{1,40}}?):\s*({NUMBER})(ms|m|%)?\s*(?:\||,|$)")
NAMES = {"dt": "step time ms", "tok/sec": "tokens per second", "lrm": "lr multiplier"}


def sniff(head: bytes, path: Path) -> float:
    hits = sum(1 for line in head_lines(head) if (m := ROW.match(line)) and re.search(r": ", m[3]))
    return confidence(hits, 0.94)


def start(table: Table) -> LineParser:
    def parse(line: str, n: int) -> None:
        if line[:5].lower() != "step ":
            return
        m = ROW.match(line)
        if not m:
            table.skip(n, "line cut short")
            return
        if m[2]:
            table.facts["max_steps"] = float(m[2])
        pairs = [(NAMES.get(k.strip(), k.strip()), v) for k, t, _ in PAIR.findall(m[3]) if (v := number(t)) is not None]
        table.row(
            (p for p in pairs if p[0] != "epoch"), line=n, step=int(m[1]), epoch=dict(pairs).get("epoch", float("nan"))
        )

    return parse


READER = Reader(id="nanochat", sniff=sniff, start=start, needles=(b"tep ",), what="nanochat log")
