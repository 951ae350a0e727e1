"""DPO stands at ln 2: policy and reference stay the same."""

import math

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix


def judge(case: Case) -> Match | None:
    rows = [r for r in case.rows if "rewards/margins" in r.values and "loss" in r.values]
    stuck = [r for r in rows if abs(r.values["loss"] - math.log(2)) < 1e-3 and r.values["rewards/margins"] == 0]
    if len(rows) < 4 or len(stuck) < 0.9 * len(rows):
        return None
    return RULE.found(0.93, [stuck[1].quote(), stuck[-1].quote()])


RULE = cause(
    "TR645",
    "dpo-loss-stuck-at-ln2",
    "not-learning",
    branch="training",
    title="DPO stands at ln 2: policy and reference stay the same",
    judge=judge,
    why="Rewards are exactly 0.0 after the first step: beta is 0, the reference is the policy itself, or nothing is trainable. At step 1 it is normal.",
    next_check="grep -nE 'beta|ref_model' of the config; the printed 'trainable params'",
    fixes=(
        fix(
            "beta 0.1 and a reference of its own",
            sets={"beta": 0.1},
            effect="experiment",
            proof="rewards/margins above 0 after some steps",
        ),
        fix("make the adapters trainable", "model.print_trainable_parameters()"),
    ),
    fires="\n".join(
        f"{{'loss': 0.6931, 'grad_norm': 0.0, 'learning_rate': 5e-06, 'rewards/chosen': 0.0, 'rewards/rejected': 0.0, 'rewards/margins': 0.0, 'rewards/accuracies': 0.0, 'epoch': {i / 50}}}"
        for i in range(1, 12)
    ),
    quiet="\n".join(
        f"{{'loss': {0.6931 - 0.01 * i:.4f}, 'grad_norm': 3.0, 'learning_rate': 5e-06, 'rewards/chosen': {0.01 * i}, 'rewards/rejected': 0.0, 'rewards/margins': {0.01 * i}, 'epoch': {i / 50}}}"
        for i in range(12)
    ),
)
