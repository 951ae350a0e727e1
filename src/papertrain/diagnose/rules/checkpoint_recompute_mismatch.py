"""Checkpointing recomputed other tensors than the forward pass saved."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR536",
    "checkpoint-recompute-mismatch",
    "index-dtype-graph",
    title="Checkpointing recomputed other tensors than the forward pass saved",
    why="The second forward of activation checkpointing differs from the first: a cache, a fused operation, sharded inputs, or a ZeRO-3 placeholder of shape [0].",
    sig=(
        "Recomputed values for the following tensors have different metadata",
        "A different number of tensors was saved during the original forward and recomputation",
        "torch.utils.checkpoint: Recomputed",
        "CheckpointError",
    ),
    confidence=0.96,
    next_check='grep -n "saved metadata" train.log   # shape [0]: ZeRO-3; half the sequence: sharded input; another count: cache or fused operation',
    fixes=(
        fix(
            "no cache while training, and the reentrant form",
            sets={"use_cache": False, "use_reentrant": True},
            proof="the first backward passes",
        ),
        fix("without the fused operation", sets={"enable_liger_kernel": False, "use_unsloth_gc": False}),
    ),
    kinds=(
        (
            "recomput\\w+.{0,80}(?:mismatch|differ|different|same|not equal)|use_reentrant",
            "ValueError: `use_reentrant` must be false when used with partially frozen model.",
        ),
    ),
    fires="torch.utils.checkpoint.CheckpointError: torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the forward pass.",
    quiet="gradient checkpointing enabled",
)
