"""One operand is fp16 and the other fp32."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR540",
    "dtype-mismatch-half-float",
    "index-dtype-graph",
    title="One operand is fp16 and the other fp32",
    why="A norm, a head or an adapter stays in fp32 while its input is half precision, outside of autocast.",
    sig=(
        "expected scalar type Half but found Float",
        "expected scalar type Float but found Half",
        "expected scalar type BFloat16 but found",
        "expected scalar type Float but found BFloat16",
        "Input type (torch.cuda.HalfTensor) and weight type",
        "Input type (float) and bias type (c10::Half)",
        "uniform dtype but got ~ flatten tensors with uniform dtype but got",
        "FlashAttention only support ~ (?i)FlashAttention only supports? (?:the )?(?:fp16|bf16|float16|bfloat16|half)",
        "should be the same ~ Input type .* and (weight|bias) type .* should be the same",
    ),
    confidence=0.94,
    next_check='python -c "print({p.dtype for p in model.parameters()})"',
    fixes=(
        fix(
            "run the step under autocast",
            "with torch.autocast('cuda', dtype=torch.bfloat16): …",
            sets={"bf16": True},
            effect="experiment",
            proof="the first forward passes",
        ),
        fix("one dtype for the odd layer", "layer.to(model.dtype)", effect="experiment"),
    ),
    kinds=(
        (
            "not implemented for '(?:Half|BFloat16|half|bfloat16)'",
            "RuntimeError: \"addmm_impl_cpu_\" not implemented for 'Half'",
        ),
        (
            "(?:dtypes?|scalar types?|ScalarType|data types?|types)\\b.{0,100}\\b(?:match|same|mismatch|differ|got|but|and|!=).{0,80}\\b(?:Half|BFloat16|bfloat16|float16|c10::\\w+)\\b",
            "RuntimeError: Index put requires the source and destination dtypes match, got BFloat16 for the destination and Float for the source.",
        ),
        (
            "\\b(?:Half|BFloat16|bfloat16|float16|c10::\\w+)\\b.{0,40}\\b(?:but|and|!=|vs|expected|does not match)\\b.{0,60}\\b(?:Float|float|float32|Half|c10::\\w+|float16|bfloat16)\\b",
            "RuntimeError: expected dtype torch.float16 for the cache but the key is float32",
        ),
        (
            "unsupported ScalarType BFloat16|output tensor must have the same type as input",
            "TypeError: Got unsupported ScalarType BFloat16",
        ),
        (
            "(?:q, ?k,? (?:and )?v|quer(?:y|ies),? keys?,? and values?|inputs? and weights?|self and source)\\b.{0,40}same dtypes?",
            "AssertionError: q, k, v must have the same dtype",
        ),
    ),
    fires="RuntimeError: expected scalar type Half but found Float",
    quiet="model dtype: float16",
)
