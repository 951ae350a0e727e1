"""This card is too old for FlashAttention-2."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR581",
    "flash-attn-unsupported-gpu",
    "environment",
    title="This card is too old for FlashAttention-2",
    why="It needs compute capability 8.0 (Ampere) or newer.",
    sig=(
        "FlashAttention only supports Ampere GPUs or newer",
        "FlashAttention only supports head dimension",
        "only supported on CUDA devices of compute capability >= 8.0",
    ),
    confidence=0.96,
    next_check="nvidia-smi --query-gpu=name,compute_cap --format=csv",
    fixes=(fix("torch's own attention", sets={"attention": "sdpa"}, proof="the first forward passes"),),
    kinds=(
        (
            "(?:flash|attention|sdpa|kernel).{0,120}(?:compute capability|sm_?\\d\\d|Ampere|Hopper|head[_ ]dim)",
            "ValueError: SageAttention supports compute capability between sm_80 and sm_120. Please use a different attention implementation.",
        ),
    ),
    fires="RuntimeError: FlashAttention only supports Ampere GPUs or newer.",
    quiet="FlashAttention-2 on NVIDIA A100",
)
