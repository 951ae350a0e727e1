"""The loss takes few values because it is logged in bf16."""

import math

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause


def judge(case: Case) -> Match | None:
    values = [v for _, v in case.curve if 0.5 <= v < 8]
    if len(values) < 20 or len(set(values)) > 0.5 * len(values):
        return None
    on_grid = sum(
        abs(v * g - round(v * g)) < 0.00006 * g for v in values for g in [2.0 ** (7 - math.floor(math.log2(v)))]
    )
    return RULE.found(0.85, [case.curve[0][0].quote()]) if on_grid > 0.95 * len(values) else None


RULE = cause(
    "TR646",
    "loss-quantized-bf16-benign",
    "benign",
    branch="training",
    level="note",
    benign=True,
    title="The loss takes few values because it is logged in bf16",
    judge=judge,
    why="All values lie on bf16's grid; the plateau between two of them is the format, not the training.",
    fires="\n".join(
        f"{{'loss': {(240 - i // 3) / 128:.4f}, 'grad_norm': 1.0, 'learning_rate': 2e-05, 'epoch': {i / 100}}}"
        for i in range(60)
    ),
    quiet="\n".join(
        f"{{'loss': {1.8 - 0.0037 * i:.4f}, 'grad_norm': 1.0, 'learning_rate': 2e-05, 'epoch': {i / 100}}}"
        for i in range(60)
    ),
)
