"""The trainable weights themselves are fp16."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR595",
    "fp16-gradscaler-trainable-half",
    "nan-overflow",
    title="The trainable weights themselves are fp16",
    why="The gradient scaler needs fp32 trainable weights; the model was loaded in half precision.",
    sig=("Attempting to unscale FP16 gradients",),
    confidence=0.97,
    next_check='python -c "print({p.dtype for p in model.parameters() if p.requires_grad})"',
    fixes=(
        fix(
            "trainable weights in fp32 under fp16 autocast",
            "for p in model.parameters():\n    if p.requires_grad: p.data = p.data.float()",
            effect="experiment",
            proof="the first optimizer step passes",
        ),
        fix("bf16, which needs no scaler", sets={"fp16": False, "bf16": True}, effect="experiment"),
    ),
    fires="ValueError: Attempting to unscale FP16 gradients.",
    quiet="gradient scaler: initial scale 65536",
)
