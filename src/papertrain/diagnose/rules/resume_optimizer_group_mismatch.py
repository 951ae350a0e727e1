"""The saved optimizer has other parameters than this one."""

from papertrain.diagnose.rule import cause, fix

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
