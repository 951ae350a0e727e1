"""TR138: the evaluation loss has stopped falling while the learning rate is still high."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan, sqrt

from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.monitor.curve import Curve
from papertrain.monitor.history import History
from papertrain.monitor.rules import _onset
from papertrain.monitor.rules._say import LOSS_COUNTS, PROPOSAL, show, verdict
from papertrain.monitor.rules.eval_diverging import metric_better
from papertrain.monitor.stats import deviation, mean, median
from papertrain.monitor.verdict import Verdict

EVALUATIONS = 10
EPOCHS = 2.0


def check(run: History) -> Iterator[Verdict]:
    if not run.loss_counts or run.task == "dpo" or run.rate is None or not run.far_enough(0.25):
        return
    for c in run.evaluations[:6]:
        if (found := flat(run, c)) is not None:
            yield found
            return


def flat(run: History, c: Curve) -> Verdict | None:
    """The last half of the evaluations (two thirds of few) gains less than 0.2 %, a gain of 0.5 % is excluded."""
    n = len(c)
    begin = max(1, n - max(EVALUATIONS, n // 2))
    part = c.values[begin:]
    half = len(part) // 2
    peak, now = run.peak_rate, run.rate_at(c.steps[-1])
    if half < EVALUATIONS // 2 or not peak or now is None or now < 0.2 * peak or c.steps[begin] < run.warm_until:
        return None
    epochs = c.epochs_between(begin, n - 1)
    if isnan(epochs) or epochs < EPOCHS:
        return None
    level = mean(part)
    a, b = part[:half], part[-half:]
    gain, error = mean(a) - mean(b), sqrt((deviation(a) ** 2 + deviation(b) ** 2) / half)
    start = median(c.values[: max(1, n // 8)])
    if level <= 0 or abs(gain) > 0.002 * level or abs(gain) + 2 * error > 0.005 * level or level < 0.02 * start:
        return None
    if len(set(part)) <= 3 or metric_better(run, c.steps[begin]):
        return None
    since = max(1, _onset.flat(c.values, begin, n))
    says = say("{name} has stood at {level} since {unit} {step}, over {epochs:.1f} epochs: an improvement of more than 0.5 % is excluded",
               name=c.raw, level=show(level), step=c.steps[since], epochs=c.epochs_between(since, n - 1), unit=c.word)  # fmt: skip
    return verdict(RULE.id, "eval_loss", "warning", says, c, [since, begin, n - 1], cls="overfit-too-many-epochs")


RULE = Rule(
    id="TR138",
    name="eval-loss-plateau",
    level="warning",
    check=check,
    applies=LOSS_COUNTS + " Not DPO.",
    what="Over the last half of the evaluations, at least ten and two epochs, the evaluation loss gained less than 0.2 % and a gain of 0.5 % is "
    "excluded (two standard errors), while the learning rate is above a fifth of its peak, warm-up is over, a quarter of the plan is done and no metric improves.",
    why="What is still learned no longer carries over: the run may stop here, or the rate should fall.",
    known_problems="A run whose rate has decayed converges, and rightly so; without a learning rate in the log nothing is said. Training that goes on "
    "while the evaluation rests is how overfitting begins.",
    source=PROPOSAL,
    fires="\n".join(f'{{"current_steps": {i * 10}, "total_steps": 2000, "loss": {2 - 0.008 * i:.3f}, "lr": 2e-05, "epoch": {i / 25:.2f}'
                    + (f', "eval_loss": {1.2 + max(0, 70 - i) * 0.01 + 0.0001 * (i * 7 % 11):.4f}' if i % 5 == 0 else "") + "}" for i in range(1, 181)),
    quiet="\n".join(f'{{"current_steps": {i * 10}, "total_steps": 2000, "loss": {2 - 0.008 * i:.3f}, "lr": 2e-05, "epoch": {i / 25:.2f}'
                    + (f', "eval_loss": {2.4 - 0.006 * i:.4f}' if i % 5 == 0 else "") + "}" for i in range(1, 181)),
)  # fmt: skip
