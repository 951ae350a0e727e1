"""no_sync does not go with ZeRO's gradient partitioning."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR545",
    "deepspeed-no-sync",
    "deepspeed-parallel",
    title="no_sync does not go with ZeRO's gradient partitioning",
    why="The pair of transformers/accelerate and DeepSpeed versions: newer DeepSpeed asserts where older ignored it.",
    sig=("no_sync context manager is incompatible with",),
    confidence=0.97,
    bound=("deepspeed", ">=0.16"),
    next_check="pip show deepspeed transformers accelerate | grep -E 'Name|Version'",
    fixes=(
        fix(
            "transformers and accelerate new enough for this DeepSpeed, or DeepSpeed 0.15.x",
            "pip install -U transformers accelerate",
            'pip install "deepspeed<0.16"',
            proof="the first accumulation step passes",
        ),
        fix("no accumulation", sets={"gradient_accumulation_steps": 1}, effect="experiment"),
    ),
    fires="AssertionError: no_sync context manager is incompatible with gradient partitioning logic of ZeRO stage 3",
    quiet="gradient partitioning: ZeRO stage 3",
)
