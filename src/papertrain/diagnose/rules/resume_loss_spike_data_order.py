"""A small bump after the resume: the data starts in another order."""

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix
from papertrain.diagnose.rules import _resume as resumes


def judge(case: Case) -> Match | None:
    at = resumes.boundary(case)
    if at is None or not at.jumped or at.stays or case.find("OVERFLOW!"):
        return None
    return RULE.found(0.6, [at.before.quote(), at.after.quote()])


RULE = cause(
    "TR657",
    "resume-loss-spike-data-order",
    "resume",
    branch="training",
    level="warning",
    title="A small bump after the resume: the data starts in another order",
    judge=judge,
    sig=resumes.WORDS,
    why="The sampler began anew; the bump fades within some hundred steps.",
    next_check="compare the sample ids of the first batch after the resume",
    fixes=(
        fix(
            "skip the batches that were already seen",
            sets={"ignore_data_skip": False},
            effect="experiment",
            proof="the curve continues without a bump",
        ),
    ),
    fires="\n".join(
        f"{{'step': {i}, 'loss': {2.0 - 0.01 * i + 0.01 * (i % 2):.3f}, 'grad_norm': 1.0, 'learning_rate': 1e-05}}"
        for i in range(10, 100, 5)
    )
    + "\nResuming training from checkpoint-95\n"
    + "\n".join(
        f"{{'step': {i}, 'loss': {v:.3f}, 'grad_norm': 1.0, 'learning_rate': 1e-05}}"
        for i, v in zip(range(100, 160, 5), [1.42, 1.35, 1.25, 1.12, 1.02, 0.95, 0.88, 0.80, 0.76, 0.72, 0.69, 0.66])
    ),
    quiet="sampler state restored",
)
