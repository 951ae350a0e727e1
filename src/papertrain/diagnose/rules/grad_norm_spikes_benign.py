"""Single large gradient norms that the loss does not follow."""

import math
import statistics

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause


def judge(case: Case) -> Match | None:
    rows = [r for r in case.rows if "loss" in r.values and math.isfinite(r.values.get("grad_norm", math.nan))]
    if len(rows) < 12:
        return None
    level = statistics.median(r.values["grad_norm"] for r in rows)
    for i, r in enumerate(rows):
        if level > 0 and r.values["grad_norm"] > max(30 * level, 30):
            near = [x.values["loss"] for x in rows[i + 1 : i + 6]]
            before = [x.values["loss"] for x in rows[max(0, i - 6) : i]]
            if near and before and statistics.median(near) < 1.3 * statistics.median(before) + 0.1:
                return RULE.found(0.8, [r.quote()])
    return None


RULE = cause(
    "TR642",
    "grad-norm-spikes-benign",
    "benign",
    branch="training",
    level="note",
    benign=True,
    title="Single large gradient norms that the loss does not follow",
    judge=judge,
    why="Clipping takes the step to length 1; the loss did not react within the next steps.",
    fires="\n".join(
        f"{{'step': {i}, 'loss': {1.9 - 0.005 * i:.3f}, 'grad_norm': {812.0 if i == 40 else 1.1}, 'learning_rate': 2e-05}}"
        for i in range(1, 80)
    ),
    quiet="\n".join(
        f"{{'step': {i}, 'loss': {1.9 - 0.005 * i:.3f}, 'grad_norm': 1.1, 'learning_rate': 2e-05}}"
        for i in range(1, 80)
    ),
)
