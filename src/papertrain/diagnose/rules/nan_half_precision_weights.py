"""fp16 overflows: the weights or activations leave its range."""

from papertrain.diagnose.rule import cause, fix
from papertrain.diagnose.rules import _nan as nan

RULE = cause(
    "TR625",
    "nan-half-precision-weights",
    "nan-overflow",
    branch="training",
    title="fp16 overflows: the weights or activations leave its range",
    share=nan.judge,
    sig=(*nan.MASKED, *nan.SDPA, *nan.BAD_DATA),
    why="fp16 ends at 65 504; a model loaded in half precision, or without loss scaling, runs out of it.",
    next_check="50 steps in bf16 (or fp32), same seed",
    fixes=(
        fix(
            "bf16",
            sets={"fp16": False, "bf16": True},
            effect="experiment",
            proof="loss and grad_norm are finite for 50 steps",
        ),
        fix("weights in fp32, fp16 only under autocast", sets={"torch_dtype": "float32"}, effect="experiment"),
    ),
    kinds=(
        (
            "probability tensor contains either",
            "RuntimeError: probability tensor contains either `inf`, `nan` or element < 0",
        ),
    ),
    kind_confidence=0.42,
    fires="fp16: true\n{'loss': 2.1, 'grad_norm': 3.0, 'learning_rate': 1e-05, 'epoch': 0.01}\n{'loss': nan, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': 0.02}\n{'loss': nan, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': 0.03}",
    quiet="fp16: true, loss scale 65536",
)
