"""TR101: the training loss has stopped falling while the learning rate is still high."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from math import isnan, sqrt

from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.monitor.curve import Curve
from papertrain.monitor.history import History
from papertrain.monitor.rules import _onset
from papertrain.monitor.rules._say import LOSS_COUNTS, PROPOSAL, show, verdict
from papertrain.monitor.stats import deviation, mean, median
from papertrain.monitor.verdict import Verdict

EPOCHS = 2.0
POINTS = 24


def check(run: History) -> Iterator[Verdict]:
    c = run.loss
    if c is None or len(c) < 3 * POINTS or not run.loss_counts or run.task == "dpo" or not run.far_enough(0.25):
        return
    end = still_training(run, c)
    latest = where(c, end)
    if latest is None:
        return
    if isnan(c.epochs[-1]) and run.rate is None:
        return  # neither epochs nor a rate: nothing says that more was to be expected
    # What a third of a coarse curve cannot prove, a longer flat part can.
    for begin in sorted({latest, min(latest, end // 2), min(latest, end // 3)}, reverse=True):
        if end - begin >= POINTS and c.steps[begin] >= run.warm_until and (found := flat(run, c, begin, end)):
            yield found
            return


def flat(run: History, c: Curve, begin: int, end: int) -> Verdict | None:
    """The verdict on one part: an improvement of half a percent is excluded."""
    part = c.values[begin:end]
    start = median(c.values[: max(3, len(c) // 40)])
    if on_grid(part) or mean(part) < 0.02 * start:
        return None
    improvement, error = proved(part)
    level = abs(mean(part))
    if improvement < 0.002 * level and improvement + 2 * error < 0.005 * level:
        if mean(part) >= 0.98 * start and run.from_scratch(c):
            return None
        since = _onset.flat(c.values, begin, end)
        says = say(
            "loss has stood at {level} since {unit} {step}: an improvement of more than 0.5 % is excluded",
            level=show(mean(part)),
            step=c.steps[since],
            unit=c.word,
        )
        return verdict(RULE.id, "train_loss", "warning", says, c, [since, begin, end - 1], cls="underfitting")
    return None


def still_training(run: History, c: Curve) -> int:
    """Points up to the one at which the learning rate has decayed below a fifth of its peak."""
    r, peak = run.rate, run.peak_rate
    if r is None or not peak:
        return len(c)
    late = [s for s, v in zip(r.steps, r.values) if v >= 0.2 * peak]
    return bisect_left(c.steps, late[-1] + 1) if late else 0


def where(c: Curve, end: int) -> int | None:
    """The last third, or more where that is less than two epochs; the last half where epochs are unknown; None where
    there are not two epochs to judge."""
    begin = end - end // 3
    first, last = c.epochs[0], c.epochs[end - 1] if end else c.epochs[0]
    if isnan(first) or isnan(last):
        return end - end // 2
    if last - first < EPOCHS + 0.5:
        return None
    return min(begin, next(i for i in range(end) if c.epochs[i] >= last - EPOCHS - 0.01))


def proved(part: list[float]) -> tuple[float, float]:
    """Improvement from the first half to the second, and its standard error from means of eight blocks a half."""
    half = len(part) // 2
    a, b = part[:half], part[half : 2 * half]
    size = max(1, half // 8)
    left = [mean(a[i : i + size]) for i in range(0, half - size + 1, size)]
    right = [mean(b[i : i + size]) for i in range(0, half - size + 1, size)]
    naive = sqrt((deviation(a) ** 2 + deviation(b) ** 2) / half)
    blocked = sqrt(deviation(left) ** 2 / len(left) + deviation(right) ** 2 / len(right))
    return mean(a) - mean(b), max(naive, blocked)


def on_grid(part: list[float]) -> bool:
    """Few distinct values: the loss was rounded to bf16 before it was logged, and small changes cannot show."""
    return len(set(part)) <= max(3, len(part) // 8)


RULE = Rule(
    id="TR101",
    name="loss-plateau",
    level="warning",
    check=check,
    applies=LOSS_COUNTS + " Not DPO either: its loss is flat in good health.",
    what="Over the last third of the run (or the last half, or two thirds) and at least two epochs (the last half where only the rate is known), the loss improved by less than 0.2 % and an "
    "improvement of 0.5 % or more is excluded (two standard errors), while the learning rate is above a fifth of its peak, a quarter of the "
    "plan is done and the loss is not at its floor (2 % of the start).",
    why="Time is spent without learning: the rate, the rank or the data limit the run.",
    known_problems="Multi-epoch fine-tuning is flat inside an epoch; slow power laws gain 0.3 % a fifth of a run; values on a bf16 grid "
    "cannot show small gains. Where the data cannot exclude an improvement, nothing is said.",
    source=PROPOSAL,
    status="stable",
    fires="\n".join(
        f"step={i} loss={1.2 + max(0, 60 - i) * 0.02 + 0.0002 * (i * 37 % 101 - 50):.4f} lr=2e-05"
        for i in range(1, 301)
    ),
    quiet="\n".join(
        f"step={i} loss={1.0 + 3 / (1 + i / 20) + 0.0002 * (i * 37 % 101 - 50):.4f}" for i in range(1, 301)
    ),
)
