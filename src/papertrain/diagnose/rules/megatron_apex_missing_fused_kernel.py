"""Megatron's fused kernel is not installed."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR553",
    "megatron-apex-missing-fused-kernel",
    "deepspeed-parallel",
    title="Megatron's fused kernel is not installed",
    why="Gradient accumulation fusion needs an extension of apex that is not there.",
    sig=(
        "fused_weight_gradient_mlp_cuda",
        "gradient_accumulation_fusion ~ gradient_accumulation_fusion set to True but|fusion.{0,80}not found",
        "No module named 'fused_layer_norm_cuda'",
        "No module named 'amp_C'",
        "No module named 'apex'",
        "scaled_upper_triang_masked_softmax_cuda",
    ),
    confidence=0.93,
    next_check="python -c 'import fused_weight_gradient_mlp_cuda'",
    fixes=(
        fix("without that fusion", "--no-gradient-accumulation-fusion", proof="the first backward passes"),
        fix(
            "apex with its extensions",
            "pip install -v --no-build-isolation --config-settings '--build-option=--cpp_ext --cuda_ext' ./apex",
        ),
    ),
    fires="RuntimeError: ColumnParallelLinear was called with gradient_accumulation_fusion set to True but the custom CUDA extension fused_weight_gradient_mlp_cuda module is not found.",
    quiet="apex fused layer norm in use",
)
