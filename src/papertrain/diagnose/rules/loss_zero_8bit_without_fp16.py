"""Loss 0.0 with 8-bit weights and no half precision."""

from papertrain.diagnose.rule import cause, fix
from papertrain.diagnose.rules import _nan as nan

RULE = cause(
    "TR633",
    "loss-zero-8bit-without-fp16",
    "nan-overflow",
    branch="training",
    title="Loss 0.0 with 8-bit weights and no half precision",
    share=nan.judge,
    sig=(*nan.MASKED, *nan.SDPA, *nan.BAD_DATA),
    why="Adapters in fp32 beside 8-bit weights overflow unless the fp16 (or bf16) flag is on.",
    next_check="grep -nE 'fp16|bf16|load_in_8bit' *.py *.sh",
    fixes=(
        fix(
            "the half-precision flag", sets={"fp16": True}, effect="experiment", proof="loss above 0 from the first row"
        ),
    ),
    fires="load_in_8bit: true\n{'loss': 0.0, 'learning_rate': 0.0003, 'epoch': 0.01}\n{'loss': 0.0, 'learning_rate': 0.0003, 'epoch': 0.02}\n{'loss': 0.0, 'learning_rate': 0.0003, 'epoch': 0.03}",
    quiet="load_in_8bit: true\n{'loss': 1.2, 'learning_rate': 0.0003, 'epoch': 0.01}",
)
