"""DPO swings wildly: its learning rate is too high."""

import itertools
import math

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix


def judge(case: Case) -> Match | None:
    rows = [r for r in case.rows if "rewards/margins" in r.values and "loss" in r.values]
    high = [r for r in rows if math.isfinite(r.values["loss"]) and r.values["loss"] > 5]
    swings = [b.values["rewards/margins"] - a.values["rewards/margins"] for a, b in itertools.pairwise(rows)]
    if len(rows) < 3 or len(high) < 2 or sum(abs(s) > 10 for s in swings) < 2:
        return None
    lr = max(case.values("learning_rate"), default=0) or case.facts.number("learning_rate") or 0
    return RULE.found(0.92 if lr > 1e-5 else 0.7, [high[0].quote(), high[-1].quote()])


RULE = cause(
    "TR638",
    "dpo-lr-too-high",
    "divergence-lr",
    branch="training",
    title="DPO swings wildly: its learning rate is too high",
    judge=judge,
    why="Losses far above 1 and margins of tens: preference training needs 5e-7 to 5e-6, not the rates of supervised training.",
    next_check="grep -n learning_rate of the config",
    fixes=(
        fix(
            "a learning rate for preferences",
            sets={"learning_rate": 5e-07},
            effect="experiment",
            proof="loss starts at 0.69 and falls, margins grow slowly",
        ),
    ),
    fires="\n".join(
        f"{{'loss': {v}, 'grad_norm': 900.0, 'learning_rate': 0.0001, 'rewards/chosen': {-m}, 'rewards/rejected': {m}, 'rewards/margins': {-2 * m}, 'epoch': {i / 10}}}"
        for i, (v, m) in enumerate([(0.69, 0.0), (8.2, 12.0), (27.4, -31.0), (61.0, 40.5), (9.9, -22.0), (31.2, 14.0)])
    ),
    quiet="{'loss': 0.62, 'grad_norm': 9.0, 'learning_rate': 5e-07, 'rewards/chosen': 0.1, 'rewards/rejected': -0.1, 'rewards/margins': 0.2, 'epoch': 0.1}",
)
