"""ZeRO-1/2 with overlap_comm corrupts gradients."""

from papertrain.diagnose.rule import cause, fix
from papertrain.diagnose.rules import _nan as nan

RULE = cause(
    "TR621",
    "nan-deepspeed-overlap-comm",
    "nan-overflow",
    branch="training",
    title="ZeRO-1/2 with overlap_comm corrupts gradients",
    share=nan.judge,
    sig=(*nan.MASKED, *nan.SDPA, *nan.BAD_DATA),
    bound=("deepspeed", ">=0.12.4"),
    why="A bucket is reused before its all-reduce has ended: the gradient norm breaks within the first steps while the loss is still sane; ZeRO-3 and a single card are healthy.",
    next_check="20 steps with overlap_comm: false (or ZeRO-3), same seed: grad_norm stays finite",
    fixes=(
        fix(
            "overlap_comm off",
            sets={"overlap_comm": False},
            proof="grad_norm is finite for 20 steps; then go back to the last checkpoint before the first NaN",
        ),
        fix("a larger bucket", sets={"reduce_bucket_size": 1000000000}),
        fix("ZeRO-3", sets={"zero_stage": 3}),
    ),
    fires="{'zero_optimization': {'stage': 2, 'overlap_comm': True}, 'bf16': {'enabled': True}}\nworld_size: 4\n{'loss': 1.71, 'grad_norm': 7.9, 'learning_rate': 1.2e-07, 'epoch': 0.01}\n{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 2.4e-07, 'epoch': 0.02}\n{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 3.6e-07, 'epoch': 0.03}",
    quiet="{'loss': 1.71, 'grad_norm': 7.9, 'learning_rate': 1.2e-07, 'epoch': 0.01}",
)
