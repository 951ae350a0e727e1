"""The loss jumped at once and stays above its level."""

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix
from papertrain.diagnose.rules import _nan as nan
from papertrain.diagnose.shapes import rise


def judge(case: Case) -> Match | None:
    found = rise(case)
    if found is None or found.recovered or not found.sudden or nan.broken(case) is not None or case.rl:
        return None
    return RULE.found(
        0.4 if found.beyond else 0.45 if found.norm_rose >= 3 else 0.68,
        [found.at.quote(), case.curve[-1][0].quote()],
        cause=RULE.why + f" Here the level went from {found.best:.3g} to {found.end:.3g}.",
    )


RULE = cause(
    "TR640",
    "loss-spike-bad-batch",
    "result",
    branch="training",
    yields=(
        "divergence-bad-init",
        "dpo-lr-too-high",
        "resume-lr-scheduler-reset",
        "resume-loss-spike-optimizer-state",
        "resume-loss-spike-data-order",
    ),
    level="warning",
    title="The loss jumped at once and stays above its level",
    judge=judge,
    why="A sudden jump without a drift before it points at the data of that step, more than at the learning rate.",
    next_check="papertrain check DATA; run again from the checkpoint before with another data order",
    fixes=(
        fix(
            "clip the gradient norm at 1",
            sets={"max_grad_norm": 1.0},
            effect="experiment",
            proof="the same batch no longer moves the loss",
        ),
        fix(
            "go back before the jump and skip the batches around it",
            sets={"resume_from_checkpoint": "<the checkpoint before>"},
            effect="experiment",
        ),
        fix("filter the rows of that batch", "papertrain check DATA", effect="experiment"),
    ),
    fires="\n".join(
        f"{{'step': {i}, 'loss': {(1.2 if i < 30 else 2.9) + 0.01 * (i % 3):.3f}, 'grad_norm': 1.0, 'learning_rate': 2e-05}}"
        for i in range(1, 60)
    ),
    quiet="\n".join(
        f"{{'step': {i}, 'loss': {1.2 + 0.01 * (i % 3):.3f}, 'grad_norm': 1.0, 'learning_rate': 2e-05}}"
        for i in range(1, 60)
    ),
)
