"""Learning rate 0 or skipped steps at the start: the warm-up begins, or fp16 searches its loss scale."""

import re

from papertrain.core.findings import LogLine
from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause

APEX = ("Gradient overflow", "reducing loss scale to")
_SCALE = re.compile(r"reducing loss scale to ([\d.]+(?:e[-+]?\d+)?)")


def collapsed(case: Case) -> LogLine | None:
    """A line of apex (or of another scaler without a minimum) whose scale has fallen below 1: no search any more."""
    for line in reversed(case.find(*APEX)):
        if (m := _SCALE.search(line.text)) and float(m[1]) < 1:
            return line
    return None


def judge(case: Case) -> Match | None:
    hits = case.find(*RULE.sig)
    zero = [r for r in case.rows[:12] if r.get("learning_rate") == 0 and r.get("loss")]
    if not hits and not (zero and any((r.get("learning_rate") or 0) > 0 for r in case.rows)):
        return None
    if case.find("already at minimum") or collapsed(case):
        return None
    if not hits:
        return RULE.found(
            0.7,
            [r.quote() for r in zero[:1]],
            title="Learning rate 0 in the first rows: the warm-up begins",
            cause="They were logged before the scheduler's first step, or within its warm-up from 0.",
        )
    return RULE.found(0.9, [*hits[:2], *(r.quote() for r in zero[:1])])


RULE = cause(
    "TR648",
    "lr-zero-overflow-warmup",
    "divergence-lr",
    branch="training",
    level="note",
    benign=True,
    title="Learning rate 0 or skipped steps at the start: the warm-up begins, or fp16 searches its loss scale",
    judge=judge,
    sig=(
        "OVERFLOW!",
        "Grad overflow on iteration",
        "returning lr=0",
        "Attempted to get learning rate from scheduler before it has started",
        "Overflow detected. Skipping step",
        *APEX,
    ),
    why="The scale starts high and halves until gradients fit; steps are skipped meanwhile, and the scheduler has not begun.",
    fires="[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768\n{'loss': 2.2, 'learning_rate': 0.0, 'epoch': 0.0}\n{'loss': 2.0, 'grad_norm': 2.2, 'learning_rate': 1e-06, 'epoch': 0.01}\n{'loss': 1.8, 'grad_norm': 2.0, 'learning_rate': 2e-06, 'epoch': 0.02}",
    quiet="{'loss': 2.0, 'grad_norm': 2.2, 'learning_rate': 1e-06, 'epoch': 0.01}",
)
