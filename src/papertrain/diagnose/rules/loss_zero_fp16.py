"""Loss 0.0 in fp16: the Trainer hides a NaN."""

from papertrain.diagnose.rule import cause, fix
from papertrain.diagnose.rules import _nan as nan

RULE = cause(
    "TR627",
    "loss-zero-fp16",
    "nan-overflow",
    branch="training",
    title="Loss 0.0 in fp16: the Trainer hides a NaN",
    share=nan.judge,
    sig=(*nan.MASKED, *nan.SDPA, *nan.BAD_DATA),
    why="fp16 overflowed and the NaN filter prints 0.0.",
    next_check="50 steps with logging_nan_inf_filter=False",
    fixes=(
        fix("bf16", sets={"fp16": False, "bf16": True}, effect="experiment", proof="loss above 0, grad_norm finite"),
        fix("show NaN as NaN", sets={"logging_nan_inf_filter": False}),
    ),
    fires="model_name_or_path: facebook/some-model\nfp16: true\n{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': 0.01}\n{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': 0.02}\n{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': 0.03}",
    quiet="fp16: true",
)
