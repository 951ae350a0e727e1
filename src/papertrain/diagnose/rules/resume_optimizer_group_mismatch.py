"""The saved optimizer has other parameters than this one."""

import re

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, by_signature, cause, fix

_SIZES = re.compile(r"size of tensor a|sizes do not match|[Ss]ize mismatch")
_MOMENTS = re.compile(r"exp_avg|\bbuf\.|momentum_buffer|max_exp_avg_sq")


def judge(case: Case) -> Match | None:
    """Its own words; or a moment of the optimizer that has another size than the gradient it is moved by."""
    said = by_signature(RULE, case)
    root = case.root
    if said is not None or root is None or not _SIZES.search(root.message):
        return said
    if not any(_MOMENTS.search(f) for f in root.frames[-2:]):
        return None
    return RULE.found(0.86, [root.quote()])


RULE = cause(
    "TR607",
    "resume-optimizer-group-mismatch",
    "resume",
    title="The saved optimizer has other parameters than this one",
    why="Another set of layers is frozen, or the parameters come in another order, than when the checkpoint was written.",
    sig=(
        "doesn't match the size of optimizer's group",
        "loaded state dict has a different number of parameter groups",
        "contains a parameter group that doesn't match",
    ),
    confidence=0.97,
    judge=judge,
    next_check="compare the 'trainable params' that both runs print",
    fixes=(
        fix(
            "freeze the same layers as before, then resume",
            "model.print_trainable_parameters()",
            proof="the count equals that of the first run",
        ),
        fix(
            "start from the weights alone, with a new optimizer",
            sets={"resume_from_checkpoint": None},
            effect="experiment",
            proof="the loss continues at its level after the warm-up",
        ),
    ),
    fires="ValueError: loaded state dict contains a parameter group that doesn't match the size of optimizer's group",
    quiet="optimizer state restored: 2 groups",
)
