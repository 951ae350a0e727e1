"""The learning rate after the resume is not the one before it."""

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix
from papertrain.diagnose.rules import _resume as resumes


def judge(case: Case) -> Match | None:
    at = resumes.boundary(case)
    if at is None or at.lr_before is None or at.lr_after is None or at.lr_before <= 0:
        return None
    ratio = at.lr_after / at.lr_before
    if 0.7 < ratio < 1.25:
        return None
    return RULE.found(
        0.88,
        [at.before.quote(), at.after.quote()],
        cause=RULE.why + f" Here it was {at.lr_before:.3g} before the stop and {at.lr_after:.3g} after it.",
    )


RULE = cause(
    "TR655",
    "resume-lr-scheduler-reset",
    "resume",
    branch="training",
    title="The learning rate after the resume is not the one before it",
    judge=judge,
    sig=resumes.WORDS,
    why="The scheduler began anew: its state was not restored.",
    next_check="two log lines: the last before the stop, the first after",
    fixes=(
        fix(
            "restore the scheduler with the checkpoint",
            sets={"resume_from_checkpoint": True},
            effect="execution",
            proof="learning_rate continues where it stopped",
        ),
        fix(
            "the same number of total steps as in the first run", sets={"max_steps": "<as before>"}, effect="experiment"
        ),
    ),
    fires="\n".join(
        f"{{'step': {i}, 'loss': {2.0 - 0.01 * i:.3f}, 'grad_norm': 1.0, 'learning_rate': {2e-5 * (1 - i / 200):.3e}}}"
        for i in range(10, 100, 5)
    )
    + "\nResuming training from checkpoint-95\n"
    + "\n".join(
        f"{{'step': {i}, 'loss': {2.0 - 0.01 * i:.3f}, 'grad_norm': 1.0, 'learning_rate': {2e-5 * (1 - (i - 95) / 200):.3e}}}"
        for i in range(100, 140, 5)
    ),
    quiet="\n".join(
        f"{{'step': {i}, 'loss': {2.0 - 0.01 * i:.3f}, 'grad_norm': 1.0, 'learning_rate': {2e-5 * (1 - i / 200):.3e}}}"
        for i in range(10, 140, 5)
    ),
)
