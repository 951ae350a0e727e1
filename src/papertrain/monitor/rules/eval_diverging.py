"""TR107: the evaluation loss rises while the training loss falls."""

from __future__ import annotations

import re
from collections.abc import Iterator

from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.monitor.curve import Curve
from papertrain.monitor.history import History
from papertrain.monitor.names import EVALUATION, direction, tidy
from papertrain.monitor.rules import _onset
from papertrain.monitor.rules._say import LOSS_COUNTS, PROPOSAL, show, verdict
from papertrain.monitor.stats import mean, median, sigma, slope
from papertrain.monitor.verdict import Verdict

PREFIX = re.compile(rf"^(?:{'|'.join(sorted(EVALUATION))})[_/ -]")


def check(run: History) -> Iterator[Verdict]:
    found = [v for c in run.evaluations[:12] if (v := judge(run, c)) is not None]
    if found:
        yield max(found, key=lambda v: (v.level == "critical", len(v.seen)))


def judge(run: History, c: Curve) -> Verdict | None:
    """The last evaluations against the best one that was taken after training began."""
    first = 1 if len(c) > 1 and c.steps[0] == 0 else 0
    y = c.values[first:]
    n = len(y)
    if n < 3 or not run.loss_counts:
        return None
    best_at = min(range(n), key=y.__getitem__)
    later = y[best_at + 1 :]
    best = y[best_at]
    if len(later) < 2 or best <= 0:
        return None
    # Many evaluations are often small ones: of these a quarter of the later ones decides, not three.
    many = n >= 20
    now = median(later[-max(3, len(later) // 4 if many else 3) :] if len(later) >= 3 else later)
    rise = (now - best) / best
    if (worse := both(run, c, first + best_at, rise)) is not None:
        return worse
    above = sum(v > best for v in later) / len(later)
    noise = sigma(y[: best_at + 1] + later) if n >= 6 else 0.0
    smooth = median(y[max(0, best_at - 2) : best_at + 3]) if n >= 10 else best
    if (
        rise < 0.05
        or now - best < 0.01
        or above < 0.8
        or now - smooth < (2 if many else 1.5) * noise
        or now < 1.03 * smooth
    ):
        return creeping(run, c, first)
    i, step = first + best_at, c.steps[first + best_at]
    if not falling(run, step, 1.02 if rise > 0.1 else 0.99):
        return None
    better = metric_better(run, step)
    if rise < 0.15 and (better or run.restarted(step)):
        return None
    # Confidence grows as a model fits: the loss may rise while the accuracy stays; only a collapse or a doubling is beyond that.
    strong = (rise >= 1.0 or (rise >= 0.5 and better is not True)) and len(later) >= 3
    says = say(
        "{name} has risen by {percent:.0f} %, smoothed, since its best {best} at {unit} {step}, while the training loss falls",
        name=c.raw,
        percent=100 * rise,
        best=show(best),
        step=step,
        unit=c.word,
    )
    return verdict(
        RULE.id,
        "eval_loss",
        "critical" if strong else "warning",
        says,
        c,
        [max(i + 1, first + _onset.rise(y, best_at)), i, -1],
        cls="overfit-too-many-epochs",
    )


def creeping(run: History, c: Curve, first: int) -> Verdict | None:
    """Under the noise between evaluations: the last fifth of them against the best fifth, by its mean."""
    y = c.values[first:]
    if len(y) < 20:
        return None
    size = len(y) // 5
    means = [mean(y[i : i + size]) for i in range(len(y) - 5 * size, len(y) - size + 1, size)]
    at = min(range(5), key=means.__getitem__)
    begin = first + len(y) - (5 - at) * size
    rise = means[-1] / means[at] - 1
    change, error = slope(y[begin - first :])
    step = c.steps[begin + size - 1]
    if at > 2 or rise < 0.07 or change < max(3 * error, 0.08 * means[at], 0.01):
        return None
    if not falling(run, step, 0.99) or metric_better(run, step) or run.restarted(step):
        return None
    says = say(
        "{name} creeps up: {now} on average of the last {n}, {best} up to {unit} {step}, while the training loss falls",
        name=c.raw,
        now=show(means[-1]),
        best=show(means[at]),
        n=size,
        step=step,
        unit=c.word,
    )
    i = min(begin + size, len(c) - 1)
    return verdict(RULE.id, "eval_loss", "warning", says, c, [i, i - 1, -1], cls="overfit-too-many-epochs")


def both(run: History, c: Curve, i: int, rise: float) -> Verdict | None:
    """The training loss does not fall either: the model is worse than it was, on what it sees and on what it does not."""
    best, later = c.values[i], c.values[i + 1 :]
    if len(later) < 4 or rise < 0.2 or min(later[1:]) < 1.1 * best or median(later) - best < 3 * sigma(c.values):
        return None
    if run.loss is None or lower(run.loss, c.steps[i]) or run.restarted(c.steps[i]) or metric_better(run, c.steps[i]):
        return None
    says = say(
        "{name} stands {percent:.0f} %, smoothed, above its best {best} at {unit} {step}, and the training loss is no lower than it was there",
        name=c.raw,
        percent=100 * rise,
        best=show(best),
        step=c.steps[i],
        unit=c.word,
    )
    return verdict(RULE.id, "eval_loss", "warning", says, c, [i + 1, i, -1], cls="divergence-lr-too-high")


def lower(loss: Curve, step: int) -> bool:
    """The last rows of the training loss are below those up to that step (its first row where there is none)."""
    before = [v for s, v in zip(loss.steps, loss.values) if s <= step][-9:] or loss.values[:1]
    return median(loss.values[-max(1, min(9, len(loss) // 3)) :]) < median(before)


def falling(run: History, step: int, share: float) -> bool:
    """The training loss is at most this share of what it was at the best evaluation."""
    c = run.loss
    if c is None or len(c) < 3:
        return True
    before = [v for s, v in zip(c.steps, c.values) if s <= step][-9:]
    late = c.values[-9:]
    return not before or median(late) <= median(before) * share


def metric_better(run: History, step: int) -> bool | None:
    """Whether a primary metric has improved by 0.5 % since that step; None where there is none."""
    known = None
    measured = run.every("metric")
    # Keras writes `accuracy` beside `val_accuracy`: that one is the training's.
    twins = {PREFIX.sub("", tidy(c.raw)) for c in measured}
    for c in [*measured, *(c for c in run.every("metric_plain") if tidy(c.raw) not in twins)][:20]:
        way = direction(c.raw)
        c = c.finite()
        before = [v for s, v in zip(c.steps, c.values) if s <= step]
        after = [v for s, v in zip(c.steps, c.values) if s > step]
        if not way or not before or not after:
            continue
        gain = (max(after) - max(before)) if way > 0 else (min(before) - min(after))
        if gain > 0.005 * max(abs(max(before)), 1e-9):
            return True
        known = False
    return known


RULE = Rule(
    id="TR107",
    name="eval-loss-diverging",
    level="warning",
    check=check,
    applies=LOSS_COUNTS,
    what="At least two later evaluations, 80 % of them above the best one, and the median of the last three 5 % (and 0.01) above it and "
    "beyond 1.5 times the noise between evaluations, while the training loss does not rise. Below 15 % a metric that still improves excuses it. Warning too: four or more later evaluations, the median 20 % above the best and all but the first of them 10 %, with no better metric, while the training loss is no lower than at the best. Warning too, of 20 evaluations and more: the mean of the last fifth 7 % above that of the best fifth, and a straight line since then that rises by 8 % and three standard errors. Critical: twice the best, or 1.5 times with no "
    "metric (accuracy, F1, …; error rates the other way) better by 0.5 % since.",
    why="The model learns its training examples by heart; the best checkpoint lies behind.",
    known_problems="A gap between training and evaluation is no sign by itself. Evaluation before the first step (step 0) is not the best. "
    "Small evaluation sets are noisy.",
    source=PROPOSAL,
    status="stable",
    fires="\n".join(
        f"step={i} loss={2 - 0.015 * i:.3f}"
        + (f" eval_loss={1.5 + 0.004 * abs(i - 40) + (0.02 * (i - 40) if i > 40 else 0):.3f}" if i % 10 == 0 else "")
        for i in range(1, 121)
    ),
    quiet="\n".join(
        f"step={i} loss={2 - 0.01 * i:.3f}" + (f" eval_loss={2.1 - 0.008 * i:.3f}" if i % 10 == 0 else "")
        for i in range(1, 121)
    ),
)
