"""The gradient norm overflows while it is reduced in bf16."""

from papertrain.diagnose.rule import cause, fix
from papertrain.diagnose.rules import _nan as nan

RULE = cause(
    "TR631",
    "nan-grad-norm-reduced-in-bf16",
    "nan-overflow",
    branch="training",
    title="The gradient norm overflows while it is reduced in bf16",
    share=nan.judge,
    sig=(*nan.MASKED, *nan.SDPA, *nan.BAD_DATA),
    why="Under pipeline parallelism the squares are summed in bf16; the gradients themselves are finite.",
    next_check="print each rank's own norm: finite",
    fixes=(
        fix(
            "reduce in fp32",
            sets={"communication_data_type": "fp32", "grad_accum_dtype": "fp32"},
            proof="grad_norm is finite",
        ),
    ),
    fires="pipeline_model_parallel_size: 4\nbf16: true\n{'loss': 2.1, 'grad_norm': 1.0, 'learning_rate': 1e-05, 'epoch': 0.01}\n{'loss': 2.0, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': 0.02}\n{'loss': 1.9, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': 0.03}\n{'loss': 1.9, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': 0.04}",
    quiet="pipeline_model_parallel_size: 4",
)
