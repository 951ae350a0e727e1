"""TR134: the process was gone before it could say so."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source
from papertrain.monitor.history import History
from papertrain.monitor.rules._say import verdict
from papertrain.monitor.verdict import Verdict

BLOCK = 32768
LONG_AGO = 6 * 3600.0


def check(run: History) -> Iterator[Verdict]:
    c = run.raw_loss
    for t in run.tables:
        if t.reader != "wandb" or t.ended or c is None or not len(c) or c.file != t.file:
            continue
        try:
            size = Path(t.file).stat().st_size
        except OSError:
            continue
        age = (run.now if run.now is not None else time.time()) - c.times[-1]
        if size % BLOCK == 0 and age > LONG_AGO:
            says = say(
                "the record stops in the middle of a block at step {step}, without an exit record: the process was killed",
                step=c.steps[-1],
            )
            yield verdict(RULE.id, "heartbeat", "warning", says, c, [-1], cls="host-ram-oom-killer")


RULE = Rule(
    id="TR134",
    name="ended-abruptly",
    level="warning",
    check=check,
    what="A W&B record without exit record, whose size is a whole number of 32 KiB blocks, and whose last row is older than six hours.",
    why="The writer fills its last block only when it closes: the process was killed, or the machine lost power, and the end of the run is not in the file.",
    known_problems="A run that is still going looks the same, hence the six hours.",
    source=Source(
        kind="measured",
        ref="53 W&B records of public repositories: all with an exit record end inside a block, all without end at a block's end",
    ),
    fires="",
    quiet="step=1 loss=2.0\nstep=2 loss=1.9",
)
