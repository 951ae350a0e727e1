"""Only the evaluation loss is not a number."""

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix
from papertrain.diagnose.rules import _nan as nan


def judge(case: Case) -> Match | None:
    row = nan.eval_only(case)
    if row is None:
        return None
    return RULE.found(0.85 if case.facts.precision == "fp16" else 0.7, [row.quote(), *case.facts.where("fp16")[:1]])


RULE = cause(
    "TR629",
    "nan-eval-fp16",
    "nan-overflow",
    branch="training",
    title="Only the evaluation loss is not a number",
    judge=judge,
    sig=(*nan.MASKED, *nan.SDPA, *nan.BAD_DATA),
    why="Evaluation runs in full fp16, or a batch of the evaluation set has no label.",
    next_check="papertrain check EVAL_DATA --show 1; evaluate once in bf16 or fp32",
    fixes=(
        fix(
            "evaluate in bf16 or under autocast",
            sets={"fp16_full_eval": False, "bf16_full_eval": True},
            proof="eval_loss is finite",
        ),
    ),
    fires="{'loss': 1.2, 'grad_norm': 1.0, 'learning_rate': 1e-05, 'epoch': 0.5}\n{'eval_loss': nan, 'eval_runtime': 3.2, 'epoch': 0.5}\n{'loss': 1.1, 'grad_norm': 1.0, 'learning_rate': 1e-05, 'epoch': 0.6}\n{'eval_loss': nan, 'eval_runtime': 3.2, 'epoch': 1.0}",
    quiet="{'eval_loss': 1.1, 'eval_runtime': 3.2, 'epoch': 1.0}",
)
