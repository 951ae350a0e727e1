"""GRPO's loss is near zero by construction."""

import math

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause


def judge(case: Case) -> Match | None:
    rows = [r for r in case.rows if "reward" in r.values and "loss" in r.values]
    small = [r for r in rows if abs(r.values["loss"]) < 0.01]
    alive = [r for r in rows if math.isfinite(r.values.get("grad_norm", math.nan)) and r.values["grad_norm"] > 0]
    if not rows or len(small) < 0.5 * len(rows) or len(alive) < 0.5 * len(rows):
        return None
    return RULE.found(0.9, [small[0].quote(), rows[-1].quote()])


RULE = cause(
    "TR643",
    "grpo-loss-zero-benign",
    "benign",
    branch="training",
    level="note",
    benign=True,
    title="GRPO's loss is near zero by construction",
    judge=judge,
    why="Advantages are centred in each group; progress shows in reward and KL, and the gradient norm is above zero.",
    fires="\n".join(
        f"{{'loss': 0.0, 'grad_norm': 0.{i + 10}, 'learning_rate': 1e-06, 'reward': {0.2 + i / 100}, 'reward_std': 0.2, 'kl': {i / 1000}, 'epoch': {i / 100}}}"
        for i in range(1, 20)
    ),
    quiet="\n".join(
        f"{{'loss': 0.9, 'grad_norm': 0.5, 'learning_rate': 1e-06, 'epoch': {i / 100}}}" for i in range(1, 20)
    ),
)
