"""The loss falls steadily but very slowly: the learning rate is too low."""

import itertools
import statistics

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix
from papertrain.diagnose.rules import _nan as nan


def judge(case: Case) -> Match | None:
    values = [v for _, v in case.curve]
    lrs = case.values("learning_rate")
    if case.rl or len(values) < 40 or not lrs or max(lrs) > 2e-6 or nan.broken(case) is not None:
        return None
    quarter = len(values) // 4
    parts = [statistics.fmean(values[i * quarter : (i + 1) * quarter]) for i in range(4)]
    if (
        not all(b < a for a, b in itertools.pairwise(parts))
        or (parts[0] - parts[3]) > 0.08 * parts[0]
        or parts[3] < 0.5
    ):
        return None
    return RULE.found(0.72, [case.curve[0][0].quote(), case.curve[-1][0].quote()])


RULE = cause(
    "TR652",
    "slow-convergence-lr-too-low",
    "result",
    branch="training",
    level="warning",
    title="The loss falls steadily but very slowly: the learning rate is too low",
    judge=judge,
    why="Small, stable gradients and a tiny slope from start to end: steps are too short, or the warm-up covers the run.",
    next_check="200 steps at five times the learning rate",
    fixes=(
        fix(
            "a higher learning rate",
            sets={"learning_rate": "*5"},
            effect="experiment",
            proof="the slope of the first 200 steps grows",
        ),
        fix("a shorter warm-up", sets={"warmup_ratio": 0.03}, effect="experiment"),
    ),
    fires="\n".join(
        f"{{'loss': {2.30 - 0.0006 * i:.4f}, 'grad_norm': 0.4, 'learning_rate': 1e-07, 'epoch': {i / 50}}}"
        for i in range(1, 150)
    ),
    quiet="\n".join(
        f"{{'loss': {2.30 - 0.01 * i:.4f}, 'grad_norm': 0.4, 'learning_rate': 1e-05, 'epoch': {i / 50}}}"
        for i in range(1, 150)
    ),
)
