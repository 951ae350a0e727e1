"""This model family was trained in bf16 and overflows in fp16."""

from papertrain.diagnose.rule import cause, fix
from papertrain.diagnose.rules import _nan as nan

RULE = cause(
    "TR626",
    "fp16-overflow-model-specific",
    "nan-overflow",
    branch="training",
    title="This model family was trained in bf16 and overflows in fp16",
    share=nan.judge,
    sig=(*nan.MASKED, *nan.SDPA, *nan.BAD_DATA),
    why="Its activations exceed 65 504 in some layers; Gemma, T5 and GLM-4 are known for it.",
    next_check="grep torch_dtype config.json   # bfloat16",
    fixes=(
        fix(
            "bf16",
            sets={"fp16": False, "bf16": True},
            effect="experiment",
            proof="loss and grad_norm are finite for 50 steps",
        ),
    ),
    fires="model_name_or_path: google/gemma-2-9b-it\nfp16: true\n{'loss': 3.1, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': 0.01}\n{'loss': nan, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': 0.02}\n{'loss': nan, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': 0.03}",
    quiet="model_name_or_path: google/gemma-2-9b-it\nbf16: true",
)
