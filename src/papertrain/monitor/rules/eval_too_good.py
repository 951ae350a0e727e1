"""TR131: an evaluation that is too good to be true."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.monitor.history import History
from papertrain.monitor.names import direction
from papertrain.monitor.rules._say import LOSS_COUNTS, PROPOSAL, show, verdict
from papertrain.monitor.verdict import Verdict


def check(run: History) -> Iterator[Verdict]:
    for c in run.evaluations[:3] if run.loss_counts else ():
        if len(c) >= 4 and not any(c.values):
            says = say("{name} is exactly 0 at all {n} evaluations: it is not computed", name=c.raw, n=len(c))
            yield verdict(RULE.id, "eval_loss", "warning", says, c, [0, -1], cls="low-score-data-loading")
            return
    total = run.total_steps
    if not total or not run.loss_counts:
        return
    for c in [*run.evaluations[:3], *run.every("metric")[:20]]:
        f = c.finite()
        if not len(f) or f.steps[0] == 0 or f.steps[0] > 0.1 * total or len(f) < 2:
            continue
        loss = c.name == "eval_loss"
        if (loss and 0 <= f.values[0] < 1e-3) or (
            not loss and direction(c.raw) > 0 and 0.999 < f.values[0] <= 1.0 and "accuracy" in c.raw.lower()
        ):
            says = say(
                "{name} is {value} after {percent:.0f} % of the run: does the evaluation set lie in the training set?",
                name=c.raw,
                value=show(f.values[0]),
                percent=100 * f.steps[0] / total,
            )
            yield verdict(RULE.id, "eval_loss", "warning", says, f, [0, -1], cls="low-score-data-loading")
            return


RULE = Rule(
    id="TR131",
    name="eval-too-good",
    level="warning",
    check=check,
    applies=LOSS_COUNTS,
    what="Within the first tenth of the plan the evaluation loss is below 1e-3, or an accuracy above 0.999. Or it is exactly 0 at all of four or more evaluations: it was never computed.",
    why="Most often the answer leaks into the input, or evaluation and training share their examples.",
    known_problems="Toy tasks are that easy: it is a question, not a fault.",
    source=PROPOSAL,
    fires="\n".join(
        f'{{"current_steps": {i * 10}, "total_steps": 1000, "loss": {1 / i:.3f}, "eval_loss": 0.0002, "epoch": {i / 50}}}'
        for i in range(1, 11)
    ),
    quiet="\n".join(
        f'{{"current_steps": {i * 10}, "total_steps": 1000, "loss": {1 / i:.3f}, "eval_loss": {1.2 / i:.4f}, "epoch": {i / 50}}}'
        for i in range(1, 11)
    ),
)
