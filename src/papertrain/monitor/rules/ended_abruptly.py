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
                "the record stops in the middle of a block at {unit} {step}, without an exit record: the process was killed",
                step=c.steps[-1],
                unit=c.word,
            )
            yield verdict(RULE.id, "heartbeat", "warning", says, c, [-1], cls="host-ram-oom-killer")


RULE = Rule(
    id="TR134",
    name="ended-abruptly",
    level="warning",
    check=check,
    applies="Runs that W&B records.",
    what="A W&B record without exit record, whose size is a whole number of 32 KiB blocks, and whose last row is older than six hours.",
    why="The writer fills its last block only when it closes: the process was killed, or the machine lost power, and the end of the run is not in the file.",
    known_problems="A run that is still going looks the same, hence the six hours.",
    source=Source(
        kind="measured",
        ref="53 W&B records of public repositories: all with an exit record end inside a block, all without end at a block's end",
    ),
    # A record of 30 rows that a killed writer left: one whole block.
    fires="==> run-1.wandb (gzip, base64) <==\nH4sIAAAAAAACA+3Uu2tTYRjH8cRElBilRPCCsxdEwnnPyck5p4qIRREvoHgpotBG6FBpUUkWBweLlQ5VipdNHIQuSgcHR53aJZ3ES0WotlMdrDi0mwWfUAvnJe8D/gHfz9ZSvvyaPLyd3XuOzr/LPDxXvJDLZF9mM3PHFrcdzGRLSWFzKT9wo14fyuZNOUkKm0rre+qNvptD2awp7CoVehr9g331Rm1QflM0kbcqLHsPgn2vHIU4XfDVgvHK3qf+4aajEKULgV6QDVuvNA84CtV0oaIWfNmwUrv43VEI04VQL8iGse1j1xyFSrpQVQuBbPjw21xyFIJ0IdILsqHr1PUNjoKfLsRqoSIbJm4tLzkKJl1I9IJsmHySW1gtFNcKOSnIT2uBdcZTC6FsGP/5/M8hKXRaG2I7oR9lKCO+Puu/70jEVkK/yqqsOP5+/5wjEVkJ/SyrsuLw4tTUSUmckL/6lyhJIkwsVlC/0kg2zYzeG3ZsCq2EfqaRbOroGn/jSFSshH6nsayYnf582ZEIrIR+qLGs2Dg/e8SR8K2EfqmJrDgzsiXvSBgroZ9qIiu6T7/92H6q1pH46qkaT0Y8Hfm1u31EZH2nvtETMqLmdSw7EvYK9VRN6wFduXP+sSNhnaof6AlZ8eLu3h2ORNVKqMdpWk/owo+lq46EdZx+qCda7/jZwqgjYR2nrx6naT2i377c7nUkrOP0Iz0hK2Ymdrr+Ees4ffU4TesZfTTZdH2c1nH6iZ6QFdPxwOv247S+00A/ztY7mgEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAP/jLxnFu7AAgAAA",
    quiet="step=1 loss=2.0\nstep=2 loss=1.9",
)
