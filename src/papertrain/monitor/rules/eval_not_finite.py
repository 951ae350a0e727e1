"""TR108: the evaluation loss is NaN or infinite."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from math import isfinite

from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.monitor.history import History
from papertrain.monitor.rules._say import PROPOSAL, show, verdict
from papertrain.monitor.verdict import Verdict


def check(run: History) -> Iterator[Verdict]:
    for c in run.every("eval_loss")[:40]:
        odd = list(c.odd())
        if not odd:
            continue
        strong = len(odd) == len(c) or any(j - i == 1 for i, j in itertools.pairwise(odd)) or odd[-1] == len(c) - 1
        train_fine = run.raw_loss is not None and all(isfinite(v) for v in run.raw_loss.values[-3:]) and not run.hidden
        name, value, step = c.raw, show(c.values[odd[0]]), c.steps[odd[0]]
        says = (
            say("{name} is {value}, {place}", name=name, value=value, place=c.place(odd[0]))
            if c.ordinal
            else say("{name} is {value} at step {step}", name=name, value=value, step=step)
        )
        if train_fine:
            says += say("; the training loss is finite, so the evaluation itself is broken")
        yield verdict(
            RULE.id,
            "eval_loss",
            "critical" if strong else "warning",
            says,
            c,
            [odd[0], odd[0] - 1, -1],
            cls="nan-eval-fp16",
        )
        return


RULE = Rule(
    id="TR108",
    name="eval-loss-not-finite",
    level="critical",
    check=check,
    applies="Every task that evaluates.",
    what="The evaluation loss is NaN or infinite. Critical: twice in a row, the last time, or always. Warning: once, finite afterwards.",
    why="A best checkpoint cannot be chosen, and early stopping compares with NaN.",
    known_problems="Evaluation in fp16 may overflow while training is well: the message then says so. Newer Trainers average only the finite losses.",
    source=PROPOSAL,
    fires="step=10 loss=2.0 eval_loss=2.1\nstep=20 loss=1.9 eval_loss=nan\nstep=30 loss=1.8 eval_loss=nan",
    quiet="step=10 loss=2.0 eval_loss=2.1\nstep=20 loss=1.9 eval_loss=2.0\nstep=30 loss=1.8 eval_loss=1.9",
)
