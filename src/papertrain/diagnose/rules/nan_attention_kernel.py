"""The attention kernel returns NaN in its backward pass."""

from msgspec import structs

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix, unique
from papertrain.diagnose.rules import _nan as nan


def judge(case: Case) -> Match | None:
    warned = case.find(*nan.SDPA)
    found = nan.judge(case, RULE)
    return (
        found
        if found is None or not warned
        else structs.replace(found, evidence=unique([*found.evidence, *warned[:1]]))
    )


RULE = cause(
    "TR596",
    "nan-attention-kernel",
    "nan-overflow",
    title="The attention kernel returns NaN in its backward pass",
    branch="training",
    judge=judge,
    sig=nan.SDPA,
    why="With some shapes and strides the fused kernel (cuDNN's SDPA, an old flash-attn) writes NaN gradients; eager attention is healthy.",
    next_check="papertrain diagnose …   # and 50 steps with attn_implementation=eager, same seed",
    fixes=(
        fix(
            "without cuDNN's kernel",
            "torch.backends.cuda.enable_cudnn_sdp(False)   # before the model is built",
            proof="grad_norm is finite past the step at which it broke",
        ),
        fix("another attention", sets={"attention": "eager"}, proof="grad_norm is finite"),
    ),
    fires="UserWarning: cuDNN SDPA backward got grad_output.strides() != output.strides(), attempting to materialize a grad_output with matching strides...\n{'loss': 1.41, 'grad_norm': 1.1, 'learning_rate': 1e-05, 'epoch': 0.02}\n{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': 0.03}\n{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': 0.04}",
    quiet="attention: sdpa",
)
