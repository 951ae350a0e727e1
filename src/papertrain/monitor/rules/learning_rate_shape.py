"""TR111: the learning rate jumps, or is far above what any recipe uses."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.monitor.curve import Curve
from papertrain.monitor.history import History
from papertrain.monitor.rules._say import PROPOSAL, show, verdict
from papertrain.monitor.stats import mean, median
from papertrain.monitor.verdict import Verdict

ADAM_PROGRAMS = frozenset(("hf_trainer_state", "hf_stdout", "llamafactory"))
TOO_HIGH = 0.01
"""Ten times the highest rate in fine-tuning recipes (LoRA, 1e-3)."""


def check(run: History) -> Iterator[Verdict]:
    c = run.rate
    if c is None or len(c) < 5:
        return
    if c.ordinal and c.epochs[0] != c.epochs[0] and all(t.reader == "csv" for t in run.tables):
        return  # a table without steps and epochs lists experiments, not the course of one
    i = bump(c)
    if i is not None:
        says = say(
            "learning rate spikes to {value} at {unit} {step}, from {before}",
            value=show(c.values[i]),
            step=c.steps[i],
            before=show(c.values[i - 1]),
            unit=c.word,
        )
        yield verdict(
            RULE.id, "learning_rate", "warning", says, c, [i, i - 1, i + 1], cls="resume-lr-scheduler-mismatch"
        )
        return
    i = resumed_jump(c)
    if i is not None:
        says = say(
            "learning rate jumps from {before} to {value} at the resume at {unit} {step}",
            value=show(c.values[i]),
            step=c.steps[i],
            before=show(c.values[i - 1]),
            unit=c.word,
        )
        yield verdict(RULE.id, "learning_rate", "warning", says, c, [i, i - 1], cls="resume-lr-scheduler-reset")
        return
    peak = max(c.values)
    adam = any(t.reader in ADAM_PROGRAMS for t in run.tables) and run.loss_counts
    if adam and peak > TOO_HIGH and not learning(run):
        at = c.values.index(peak)
        says = say(
            "learning rate is {value}: ten times above the highest that recipes for AdamW use, and the loss does not fall",
            value=show(peak),
        )
        yield verdict(RULE.id, "learning_rate", "warning", says, c, [at], cls="divergence-lr-too-high")


def bump(c: Curve) -> int | None:
    """An isolated point, or a few, at least 2.5 times the values on both sides, after the first three points."""
    y = c.values
    top = max(y)
    for i in range(3, len(y) - 1):
        if y[i] < 2.5 * y[i - 1] or y[i] < 0.02 * top:
            continue
        before = median(y[max(0, i - 5) : i])
        after = y[i + 1 : i + 6]
        if y[i] > 2.5 * before and median(after) < y[i] / 2.5 and median(after) < 1.5 * before:
            return i
    return None


def resumed_jump(c: Curve) -> int | None:
    """A rate that is not continued at a resume."""
    for s in c.resumed:
        i = next((k for k, x in enumerate(c.steps) if x >= s), None)
        if i is not None and i >= 2 and y_jump(c.values, i):
            return i
    return None


def y_jump(y: list[float], i: int) -> bool:
    step = abs(y[i - 1] - y[i - 2])
    return abs(y[i] - y[i - 1]) > max(0.2 * max(y), 5 * step)


def learning(run: History) -> bool:
    c = run.loss
    if c is None or len(c) < 6:
        return False
    third = len(c) // 3
    return mean(c.values[-third:]) < 0.9 * mean(c.values[:third])


RULE = Rule(
    id="TR111",
    name="learning-rate-spike",
    level="warning",
    check=check,
    applies="Every task.",
    what="One to five points at least 2.5 times above the rate on both sides; or the rate is not continued at a resume (a jump of 20 % of "
    "the peak); or it is above 1e-2 in a program that trains with AdamW while the loss does not fall.",
    why="The schedule is not the one that was meant: a second scheduler, a reset at a resume, a typing error.",
    known_problems="Cosine schedules with restarts and warm-up after a resume rise, and stay: that is no spike.",
    source=PROPOSAL,
    fires="\n".join(f"step={i} loss={2 - 0.02 * i:.2f} lr={2e-4 if i == 20 else 2e-5:.1e}" for i in range(1, 41)),
    quiet="\n".join(
        f"step={i} loss={2 - 0.02 * i:.2f} lr={2e-5 * min(1, i / 5) * (1 - i / 50):.3e}" for i in range(1, 41)
    ),
)
