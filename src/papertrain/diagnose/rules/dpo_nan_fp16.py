"""DPO in fp16 gives NaN."""

from papertrain.diagnose.rule import cause, fix
from papertrain.diagnose.rules import _nan as nan

RULE = cause(
    "TR628",
    "dpo-nan-fp16",
    "nan-overflow",
    branch="training",
    title="DPO in fp16 gives NaN",
    share=nan.judge,
    sig=(*nan.MASKED, *nan.SDPA, *nan.BAD_DATA),
    why="Sums of log-probabilities leave fp16's range.",
    next_check="50 steps in bf16",
    fixes=(fix("bf16", sets={"fp16": False, "bf16": True}, effect="experiment", proof="rewards and loss are finite"),),
    fires="fp16: true\n{'loss': nan, 'grad_norm': nan, 'learning_rate': 5e-07, 'rewards/chosen': nan, 'rewards/rejected': nan, 'rewards/margins': nan, 'logps/chosen': nan, 'epoch': 0.01}\n{'loss': nan, 'grad_norm': nan, 'learning_rate': 5e-07, 'rewards/chosen': nan, 'rewards/rejected': nan, 'rewards/margins': nan, 'logps/chosen': nan, 'epoch': 0.02}",
    quiet="{'loss': 0.68, 'grad_norm': 2.0, 'learning_rate': 5e-07, 'rewards/chosen': 0.01, 'rewards/rejected': 0.0, 'rewards/margins': 0.01, 'epoch': 0.01}",
)
