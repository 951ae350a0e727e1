"""The loss is lower after the resume, then steps up: rows are seen twice."""

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix
from papertrain.diagnose.rules import _resume as resumes


def judge(case: Case) -> Match | None:
    at = resumes.boundary(case)
    if at is None or not at.dropped:
        return None
    return RULE.found(0.78, [at.before.quote(), at.after.quote()])


RULE = cause(
    "TR658",
    "resume-data-repeated",
    "resume",
    branch="training",
    level="warning",
    title="The loss is lower after the resume, then steps up: rows are seen twice",
    judge=judge,
    sig=resumes.WORDS,
    why="The sampler starts the epoch again, and the model has already seen these rows.",
    next_check="compare the sample ids of the first batch after the resume",
    fixes=(
        fix(
            "skip the batches that were already seen",
            sets={"ignore_data_skip": False},
            effect="experiment",
            proof="the curve continues at its level",
        ),
    ),
    fires="\n".join(
        f"{{'step': {i}, 'loss': {1.6 + 0.02 * (i % 2):.3f}, 'grad_norm': 1.0, 'learning_rate': 1e-05}}"
        for i in range(10, 100, 5)
    )
    + "\nResuming training from checkpoint-95\n"
    + "\n".join(
        f"{{'step': {i}, 'loss': {v:.3f}, 'grad_norm': 1.0, 'learning_rate': 1e-05}}"
        for i, v in zip(
            range(100, 180, 5), [1.1, 1.1, 1.12, 1.1, 1.11, 1.1, 1.12, 1.1, 1.58, 1.6, 1.59, 1.6, 1.58, 1.6, 1.6, 1.59]
        )
    ),
    quiet="sampler state restored",
)
