"""Two matrices of different dtype are multiplied."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR541",
    "dtype-mismatch-matmul",
    "index-dtype-graph",
    title="Two matrices of different dtype are multiplied",
    why="mat1 and mat2 differ in dtype: an adapter or a head was created in fp32 beside half-precision weights.",
    sig=(
        "mat1 and mat2 must have the same dtype",
        "expected mat1 and mat2 to have the same dtype",
        "expected m1 and m2 to have the same dtype",
        "Query, key, and value must have the same dtype",
        "self and mat2 must have the same dtype",
    ),
    confidence=0.95,
    next_check='python -c "print({n: p.dtype for n, p in model.named_parameters() if p.requires_grad})"',
    fixes=(
        fix(
            "cast the adapter or the head to the model's dtype, or train under autocast",
            "model.lm_head.to(model.dtype)   # or: with torch.autocast('cuda', dtype=torch.bfloat16): …",
            sets={"bf16": True},
            effect="experiment",
            proof="the first forward passes",
        ),
    ),
    fires="RuntimeError: mat1 and mat2 must have the same dtype, but got Float and BFloat16",
    quiet="mat1 and mat2 are both bfloat16",
)
