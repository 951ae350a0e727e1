"""TR135: evaluations jump up and down by factors."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.monitor.history import History
from papertrain.monitor.rules._say import LOSS_COUNTS, PROPOSAL, show, verdict
from papertrain.monitor.stats import median
from papertrain.monitor.verdict import Verdict

FACTOR = 3.0


def check(run: History) -> Iterator[Verdict]:
    if not run.loss_counts:
        return
    for c in run.evaluations[:6]:
        y = c.values
        if len(y) < 10 or median(y) <= 0:
            continue
        odd = [
            i
            for i in range(3, len(y) - 1)
            if y[i] > FACTOR * median(y[max(0, i - 3) : i] + y[i + 1 : i + 4]) and y[i] > 0.05
        ]
        if len(odd) >= 3:
            says = say("{name} jumps to more than {factor:.0f} times its neighbours at {n} of {all} evaluations, {value} at {unit} {step}",
                       name=c.raw, factor=FACTOR, n=len(odd), all=len(y), value=show(y[odd[0]]), step=c.steps[odd[0]], unit=c.word)  # fmt: skip
            yield verdict(RULE.id, "eval_loss", "warning", says, c, odd[:3], cls="low-score-data-loading")
            return


RULE = Rule(
    id="TR135",
    name="eval-loss-erratic",
    level="warning",
    check=check,
    applies=LOSS_COUNTS,
    what="At three or more evaluations the loss is above three times the median of the six around it.",
    why="The model is not evaluated as it is trained: statistics of normalisation layers, a mode switch, or an evaluation set of a few odd examples.",
    known_problems="Evaluations on a handful of examples are noisy by nature; then only the median over several says anything.",
    source=PROPOSAL,
    fires="\n".join(
        f"step={i} loss={2 - 0.01 * i:.3f}"
        + (f" eval_loss={(9.0 if i % 40 == 0 else 1.8) - 0.005 * i:.3f}" if i % 10 == 0 else "")
        for i in range(1, 181)
    ),
    quiet="\n".join(
        f"step={i} loss={2 - 0.01 * i:.3f}"
        + (f" eval_loss={(2.3 if i % 40 == 0 else 1.8) - 0.005 * i:.3f}" if i % 10 == 0 else "")
        for i in range(1, 181)
    ),
)
