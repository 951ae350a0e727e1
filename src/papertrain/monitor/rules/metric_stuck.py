"""TR109: a metric never moves from its worst value."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.monitor.curve import Curve
from papertrain.monitor.history import History
from papertrain.monitor.names import direction
from papertrain.monitor.rules._say import LOSS_COUNTS, PROPOSAL, show, verdict
from papertrain.monitor.stats import mean
from papertrain.monitor.verdict import Verdict


def check(run: History) -> Iterator[Verdict]:
    if not run.loss_counts or run.task == "dpo":
        return
    metrics = [c.finite() for c in [*run.every("metric"), *run.every("metric_plain")] if direction(c.raw) > 0][:40]
    stuck = [c for c in metrics if len(c) >= 3 and len(set(c.values)) == 1 and c.values[0] < 0.95]
    moving = [c for c in metrics if len(set(c.values)) > 1]
    if not stuck or len(moving) > len(stuck):
        return
    c = max(stuck, key=len)
    worst = c.values[0] == 0.0
    learned = improving(run)
    if learned and not worst:
        return
    strong = len(c) >= 4 and run.far_enough(0.25)
    says = say(
        "{name} is {value} at all {n} evaluations: labels, class count or metric are probably wrong",
        name=c.raw,
        value=show(c.values[0]),
        n=len(c),
    )
    yield verdict(
        RULE.id, "eval_loss", "critical" if strong else "warning", says, c, [0, -1], cls="low-score-data-loading"
    )


def improving(run: History) -> bool:
    """The evaluation loss, else the training loss, has fallen by 2 %."""
    curves: list[Curve] = [*run.evaluations[:1], *([run.loss] if run.loss is not None else [])]
    for c in curves:
        if len(c) >= 3:
            third = max(1, len(c) // 3)
            return mean(c.values[-third:]) < 0.98 * mean(c.values[:third])
    return False


RULE = Rule(
    id="TR109",
    name="metric-stuck",
    level="critical",
    check=check,
    applies=LOSS_COUNTS + " Not DPO.",
    what="A metric that should rise (accuracy, F1, mAP …) has the same value, to the last digit and below 0.95, at every evaluation, "
    "and it is 0 or no loss has fallen. Critical from four evaluations and a quarter of the plan on, else a warning from three on.",
    why="The model always answers the same, or the metric compares the wrong things.",
    known_problems="A metric that is easy from the start and stays at its best is not meant.",
    source=PROPOSAL,
    fires="\n".join(f"step={i}00 loss=1.39 eval_loss=1.39 eval_accuracy=0.2409" for i in range(1, 9)),
    quiet="\n".join(
        f"step={i}00 loss={1.4 - 0.1 * i:.2f} eval_loss={1.4 - 0.09 * i:.2f} eval_accuracy={0.24 + 0.05 * i:.2f}"
        for i in range(1, 9)
    ),
)
