"""Training and evaluation stay high together: underfitting."""

import math
import statistics

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix


def judge(case: Case) -> Match | None:
    values = [v for _, v in case.curve]
    evals = [v for v in case.values("eval_loss") if math.isfinite(v)]
    lrs = case.values("learning_rate")
    if case.rl or len(values) < 40 or len(evals) < 3 or not lrs or max(lrs) < 1e-5 or lrs[-1] < 0.1 * max(lrs):
        return None
    third = len(values) // 3
    start, middle, end = (
        statistics.fmean(values[:3]),
        statistics.fmean(values[third : 2 * third]),
        statistics.fmean(values[-third:]),
    )
    if start - end > 0.15 * start or middle - end > 0.004 * middle or end < 1.0 or abs(evals[-1] - end) > 0.15 * end:
        return None
    return RULE.found(0.66, [case.curve[third][0].quote(), case.curve[-1][0].quote()])


RULE = cause(
    "TR651",
    "underfitting",
    "result",
    branch="training",
    level="warning",
    title="Training and evaluation stay high together: underfitting",
    judge=judge,
    why="The loss stopped falling early although the learning rate is still high: capacity, trainable share or data format.",
    next_check="papertrain explain lora_rank; papertrain check DATA --show 1",
    fixes=(
        fix(
            "more rank and all linear layers",
            sets={"lora_rank": "*2", "lora_targets": "all-linear"},
            effect="experiment",
            proof="the floor of the training loss is lower",
        ),
        fix("a higher learning rate", sets={"learning_rate": "*2"}, effect="experiment"),
        fix("longer training", sets={"epochs": "*2"}, effect="experiment"),
    ),
    fires="\n".join(
        f"{{'loss': {2.30 - 0.03 * min(i, 6) + 0.004 * (i % 3):.3f}, 'grad_norm': 1.0, 'learning_rate': 0.0002, 'epoch': {i / 20}}}"
        + (
            f"\n{{'eval_loss': {2.16 + 0.002 * (i % 2):.3f}, 'eval_runtime': 2.0, 'epoch': {i / 20}}}"
            if i % 20 == 0
            else ""
        )
        for i in range(1, 81)
    ),
    quiet="\n".join(
        f"{{'loss': {2.30 - 0.02 * i:.3f}, 'grad_norm': 1.0, 'learning_rate': 0.0002, 'epoch': {i / 20}}}"
        for i in range(1, 81)
    ),
)
