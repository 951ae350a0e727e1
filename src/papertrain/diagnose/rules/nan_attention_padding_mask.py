"""Fully masked rows give NaN in attention."""

from papertrain.diagnose.rule import cause, fix
from papertrain.diagnose.rules import _nan as nan

RULE = cause(
    "TR622",
    "nan-attention-padding-mask",
    "nan-overflow",
    branch="training",
    title="Fully masked rows give NaN in attention",
    share=nan.judge,
    sig=(*nan.MASKED, *nan.SDPA, *nan.BAD_DATA),
    why="With batches above 1 a padded row has nothing to attend to; softmax over nothing is NaN, and the norm shows it one step before the loss.",
    next_check="50 steps with batch 1: healthy if it is the padding",
    fixes=(
        fix(
            "another padding side, or an attention that handles empty rows",
            "tokenizer.padding_side = 'right'",
            sets={"attention": "eager"},
            proof="grad_norm is finite with batch > 1",
        ),
        fix("batch 1 with accumulation", sets={"micro_batch_size": 1}, proof="grad_norm is finite"),
    ),
    fires="per_device_train_batch_size: 8\n{'loss': 1.9, 'grad_norm': 1.1, 'learning_rate': 5e-05, 'epoch': 0.01}\n{'loss': 1.8, 'grad_norm': nan, 'learning_rate': 5e-05, 'epoch': 0.02}\n{'loss': nan, 'grad_norm': nan, 'learning_rate': 5e-05, 'epoch': 0.03}\n{'loss': nan, 'grad_norm': nan, 'learning_rate': 5e-05, 'epoch': 0.04}",
    quiet="padding side: left",
)
