"""Both losses were still falling when the run ended."""

import math

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix
from papertrain.diagnose.shapes import falling_at_end


def judge(case: Case) -> Match | None:
    train = [v for _, v in case.curve]
    evals = [v for v in case.values("eval_loss") if math.isfinite(v)]
    ended = [r for r in case.rows if "train_runtime" in r.values]
    lrs = case.values("learning_rate")
    if case.rl or not ended or len(train) < 12 or len(evals) < 4 or (lrs and lrs[-1] < 0.2 * max(lrs)):
        return None
    if falling_at_end(train) < 0.08 or (evals[-2] - evals[-1]) < 0.04 * evals[-1] or min(evals) != evals[-1]:
        return None
    return RULE.found(0.7, [case.curve[-1][0].quote(), ended[-1].quote()])


RULE = cause(
    "TR653",
    "low-score-undertrained",
    "result",
    branch="result",
    level="warning",
    title="Both losses were still falling when the run ended",
    judge=judge,
    why="The last quarter still gained clearly: more steps would have.",
    next_check="papertrain watch LOG   # slope at the end",
    fixes=(
        fix(
            "train longer, with early stopping",
            sets={"epochs": "*2", "early_stopping_patience": 3},
            effect="experiment",
            proof="the evaluation loss flattens before the end",
        ),
    ),
    fires="\n".join(
        f"{{'loss': {3.0 - 0.02 * i:.3f}, 'grad_norm': 1.0, 'learning_rate': 0.0001, 'epoch': {i / 80:.3f}}}"
        + (
            f"\n{{'eval_loss': {3.0 - 0.02 * i:.3f}, 'eval_accuracy': {0.3 + 0.001 * i:.3f}, 'eval_runtime': 2.0, 'epoch': {i / 80:.3f}}}"
            if i % 16 == 0
            else ""
        )
        for i in range(1, 81)
    )
    + "\n{'train_runtime': 93.1, 'train_samples_per_second': 5.1, 'train_steps_per_second': 0.64, 'train_loss': 2.1, 'epoch': 1.0}",
    quiet="\n".join(
        f"{{'loss': {1.0 + 2.0 * 0.9**i:.3f}, 'grad_norm': 1.0, 'learning_rate': 0.0001, 'epoch': {i / 80:.3f}}}"
        for i in range(1, 81)
    ),
)
