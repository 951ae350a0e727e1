"""TR110: the learning rate is no rate; TR111 (its own file) judges its shape."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import isfinite
from pathlib import Path

from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.monitor.curve import Curve
from papertrain.monitor.history import History
from papertrain.monitor.names import EVALUATION
from papertrain.monitor.rules._say import PROPOSAL, show, verdict
from papertrain.monitor.verdict import Verdict


def check(run: History) -> Iterator[Verdict]:
    c = run.one("learning_rate")
    if c is None or not len(c):
        return
    bad = [i for i, v in enumerate(c.values) if not isfinite(v) or v < 0]
    if bad:
        i = bad[0]
        yield verdict(
            RULE.id,
            "learning_rate",
            "critical",
            say("learning rate is {value} at {unit} {step}", value=show(c.values[i]), step=c.steps[i], unit=c.word),
            c,
            [i, i - 1],
            cls="nan-lr-too-high",
        )
        return
    if evaluation_log(c) and not any(c.values):
        return
    if len(c) >= 20 and not any(c.values) and not any(any(o.values) for o in run.every("learning_rate")):
        # Nothing tells a rate of 0 from one that was rounded away: both deserve a look.
        says = say(
            "learning rate is 0 at all {n} rows: nothing is trained, or it is rounded before it is logged", n=len(c)
        )
        yield verdict(RULE.id, "learning_rate", "warning", says, c, [0, -1], cls="lr-zero-overflow-warmup")
        return
    zero = zeros(run, c)
    if zero is not None:
        i, j = zero
        if j == len(c) and i == 0:
            says = say("learning rate is 0 at all {n} rows: nothing is trained", n=len(c))
            yield verdict(RULE.id, "learning_rate", "critical", says, c, [0, -1], cls="lr-zero-overflow-warmup")
        else:
            says = say(
                "learning rate is 0 from {unit} {step} to {to}, in the middle of the run",
                step=c.steps[i],
                to=c.steps[j - 1],
                unit=c.word,
            )
            yield verdict(RULE.id, "learning_rate", "warning", says, c, [i, j - 1], cls="resume-lr-scheduler-mismatch")


def evaluation_log(c: Curve) -> bool:
    """`validation_initial.csv`: a log of evaluations has a column for the rate because its sister has one."""
    return bool(EVALUATION & set(re.split(r"[^a-z]+", Path(c.file).stem.lower())))


def zeros(run: History, c: Curve) -> tuple[int, int] | None:
    """A stretch of zeros that is neither the start (first overflows, warm-up) nor the end of the schedule nor rounding."""
    y = c.values
    if all(v == 0 for v in y):
        return (0, len(y)) if len(y) >= 10 and not printed_coarsely(run, c) else None
    first = next(i for i, v in enumerate(y) if v != 0)
    last = max(i for i, v in enumerate(y) if v != 0)
    inside = [i for i in range(first, last) if y[i] == 0]
    if len(inside) < 3 or printed_coarsely(run, c):
        return None
    # cosine with restarts touches zero once a cycle
    longest, begin = 0, inside[0]
    start = inside[0]
    for a, b in zip(inside, [*inside[1:], -1]):
        if b != a + 1:
            if a - start + 1 > longest:
                longest, begin = a - start + 1, start
            start = b
    return (begin, begin + longest) if longest >= 3 and longest >= 0.02 * len(y) else None


def printed_coarsely(run: History, c: Curve) -> bool:
    """Rounded to few decimals: 0.0001, 0.0 …, or another parameter group with its own rate stands beside it."""
    few = len({v for v in c.values if v}) <= 3 and all(round(v, 4) == v for v in c.values)
    return few or (len(run.every("learning_rate")) > 1 and any(any(o.values) for o in run.every("learning_rate")))


RULE = Rule(
    id="TR110",
    name="learning-rate-invalid",
    level="critical",
    check=check,
    applies="Every task.",
    what="The learning rate is NaN, infinite or negative (critical), 0 at every row (critical), or 0 for three rows and 2 % of the run "
    "between rows where it is not (warning).",
    why="A step with such a rate destroys the weights, or leaves them as they are.",
    known_problems="0 at the first rows (fp16 skips its first steps; warm-up), at the end of a schedule and at the foot of a cosine with restarts "
    "is normal; some code rounds the rate to four decimals, and prints 0.0.",
    source=PROPOSAL,
    fires="step=1 loss=2 lr=1e-05\nstep=2 loss=2 lr=nan\nstep=3 loss=2 lr=nan",
    quiet="step=1 loss=2 lr=0.0\nstep=2 loss=1.9 lr=1e-05\nstep=3 loss=1.8 lr=5e-06\nstep=4 loss=1.7 lr=0.0",
)
