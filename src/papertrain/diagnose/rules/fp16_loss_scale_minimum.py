"""The fp16 loss scale fell to its minimum: gradients are not finite any more."""

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, by_signature, cause, fix
from papertrain.diagnose.rules.lr_zero_overflow_warmup import APEX, collapsed


def judge(case: Case) -> Match | None:
    """A scaler that says so, or one that goes on halving far below 1 (apex has no minimum)."""
    found = by_signature(RULE, case)
    if found is not None or (line := collapsed(case)) is None:
        return found
    return RULE.found(0.95, [line])


RULE = cause(
    "TR594",
    "fp16-loss-scale-minimum",
    "nan-overflow",
    title="The fp16 loss scale fell to its minimum: gradients are not finite any more",
    branch="training",
    why="A few skipped steps at the start are the scaler's search. At its minimum every step overflows: weights trained in bf16, a learning rate that is too high, or NaN in the data.",
    judge=judge,
    more=APEX,
    sig=(
        "Current loss scale already at minimum",
        "loss scale already at minimum",
        "Minimum loss scale reached",
        "current loss scale already at minimum",
        "Cannot decrease scale anymore",
    ),
    confidence=0.97,
    early=True,
    unlike=(("lr-zero-overflow-warmup", "the scale does not stop falling: it reached its minimum"),),
    next_check="grep -c OVERFLOW train.log   # and the model's own dtype: grep torch_dtype config.json",
    fixes=(
        fix(
            "bf16 instead of fp16 (cards from Ampere on)",
            sets={"fp16": False, "bf16": True},
            effect="experiment",
            proof="no OVERFLOW line in the first 100 steps",
        ),
        fix("half the learning rate, more warm-up", sets={"learning_rate": "/2"}, effect="experiment"),
    ),
    fires="[2026-01-01 00:00:00,000] [INFO] [loss_scaler.py:188:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 1, reducing to 1\nException: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.",
    quiet="[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768",
)
