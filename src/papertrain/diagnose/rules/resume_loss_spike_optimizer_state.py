"""The loss jumps at the resume: the optimizer's state is missing."""

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix
from papertrain.diagnose.rules import _resume as resumes


def judge(case: Case) -> Match | None:
    at = resumes.boundary(case)
    if at is None or not at.jumped:
        return None
    halving = case.find("OVERFLOW!")
    missing = case.find(
        "optimizer state ~ (?i)optimizer.{0,40}(not found|missing|not loaded|skip|reset)",
        "optimizer.pt ~ (?i)(not found|missing|no such).{0,60}optimizer|optimizer\\S*.{0,40}(not found|missing|no such)",
    )
    confidence = 0.88 if halving or missing else 0.6 if at.stays else 0.35
    return RULE.found(confidence, [at.before.quote(), at.after.quote(), *missing[:1], *halving[:1]])


RULE = cause(
    "TR656",
    "resume-loss-spike-optimizer-state",
    "resume",
    branch="training",
    title="The loss jumps at the resume: the optimizer's state is missing",
    judge=judge,
    sig=resumes.WORDS,
    why="Adam's moments started from zero (or the loss scale did): the first steps are far too long.",
    next_check="ls checkpoint-*/optimizer.pt checkpoint-*/global_step*",
    fixes=(
        fix(
            "restore the optimizer with the checkpoint",
            sets={"resume_from_checkpoint": True, "save_only_model": False},
            proof="the loss continues at its level",
        ),
        fix("if it is lost: a short warm-up at the resume", sets={"warmup_steps": 100}, effect="experiment"),
    ),
    fires="\n".join(
        f"{{'step': {i}, 'loss': {2.0 - 0.01 * i:.3f}, 'grad_norm': 1.0, 'learning_rate': 1e-05}}"
        for i in range(10, 100, 5)
    )
    + "\nResuming training from checkpoint-95\n"
    + "\n".join(
        f"[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: {2 ** (16 - k)}, reducing to {2 ** (15 - k)}\n{{'step': {i}, 'loss': {3.4 - 0.02 * k:.3f}, 'grad_norm': 9.0, 'learning_rate': 1e-05}}"
        for k, i in enumerate(range(100, 140, 5))
    ),
    quiet="optimizer state restored from checkpoint-95",
)
