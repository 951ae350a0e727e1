"""DeepSpeed wants an integer and gets a fraction."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR544",
    "deepspeed-version-pydantic-float",
    "deepspeed-parallel",
    title="DeepSpeed wants an integer and gets a fraction",
    why="Newer versions validate the config: 0.9 × hidden² or 2e8 written as a float is refused.",
    sig=(
        "Input should be a valid integer, got a number with a fractional part",
        "value is not a valid integer ~ (?i)bucket|threshold|zero|deepspeed",
        "Input should be a valid integer ~ (?i)bucket|threshold|zero|sub_group",
    ),
    confidence=0.93,
    next_check="pip show deepspeed pydantic | grep -E 'Name|Version'",
    fixes=(
        fix(
            'whole numbers, or "auto"',
            sets={
                "reduce_bucket_size": "auto",
                "stage3_prefetch_bucket_size": "auto",
                "stage3_param_persistence_threshold": "auto",
            },
            proof="the config is accepted",
        ),
        fix("versions that fit each other", "pip install -U deepspeed"),
    ),
    fires="pydantic_core._pydantic_core.ValidationError: 1 validation error for DeepSpeedZeroConfig\nstage3_prefetch_bucket_size\n  Input should be a valid integer, got a number with a fractional part [type=int_from_float, input_value=15099494.4, input_type=float]",
    quiet="stage3_prefetch_bucket_size 15099494",
)
