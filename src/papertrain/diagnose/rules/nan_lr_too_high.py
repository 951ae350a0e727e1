"""The loss grew until it was not a number: the learning rate is too high."""

from papertrain.diagnose.rule import cause, fix
from papertrain.diagnose.rules import _nan as nan

RULE = cause(
    "TR630",
    "nan-lr-too-high",
    "nan-overflow",
    branch="training",
    title="The loss grew until it was not a number: the learning rate is too high",
    share=nan.judge,
    sig=(*nan.MASKED, *nan.SDPA, *nan.BAD_DATA),
    why="A phase of growth stands before the NaN, at a learning rate that was already high.",
    next_check="50 steps at a tenth of the learning rate, same seed",
    fixes=(
        fix(
            "the learning rate that the method derives",
            sets={"learning_rate": "=derived"},
            effect="experiment",
            proof="the loss falls for 100 steps",
        ),
        fix(
            "a tenth of the learning rate, with warm-up",
            sets={"learning_rate": "/10", "warmup_ratio": 0.1},
            effect="experiment",
            proof="loss falls for 50 steps",
        ),
        fix("clip the gradient norm at 1", sets={"max_grad_norm": 1.0}, effect="experiment"),
    ),
    fires="{'loss': 2.1, 'grad_norm': 1.2, 'learning_rate': 0.003, 'epoch': 0.01}\n{'loss': 3.9, 'grad_norm': 14.2, 'learning_rate': 0.003, 'epoch': 0.02}\n{'loss': 8.7, 'grad_norm': 211.0, 'learning_rate': 0.003, 'epoch': 0.03}\n{'loss': 31.2, 'grad_norm': 9011.0, 'learning_rate': 0.003, 'epoch': 0.04}\n{'loss': nan, 'grad_norm': nan, 'learning_rate': 0.003, 'epoch': 0.05}\n{'loss': nan, 'grad_norm': nan, 'learning_rate': 0.003, 'epoch': 0.06}",
    quiet="{'loss': 2.1, 'grad_norm': 1.2, 'learning_rate': 0.00003, 'epoch': 0.01}",
)
