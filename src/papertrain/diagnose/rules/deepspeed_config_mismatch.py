"""The DeepSpeed file and TrainingArguments disagree."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR543",
    "deepspeed-config-mismatch",
    "deepspeed-parallel",
    title="The DeepSpeed file and TrainingArguments disagree",
    why="Both give a value for the same thing. Equal numbers that mismatch differ in type: a string against a float.",
    sig=(
        "Please correct the following DeepSpeed config values that mismatch TrainingArguments values",
        "ds train_micro_batch_size_per_gpu=",
        "the correct value or set it to 'auto'",
        "The easiest method is to set these DeepSpeed config values to 'auto'",
    ),
    confidence=0.97,
    yields=(),
    next_check="grep -n auto ds*.json",
    fixes=(
        fix(
            'let DeepSpeed take them from TrainingArguments: "auto"',
            sets={
                "train_batch_size": "auto",
                "train_micro_batch_size_per_gpu": "auto",
                "ds_gradient_accumulation_steps": "auto",
                "ds_optimizer_lr": "auto",
                "gradient_clipping": "auto",
            },
            proof="the message is gone",
        ),
    ),
    kinds=(
        (
            "(?:DeepSpeed|ds_config).{0,12}(?:config|json)\\b.{0,120}(?:but also|only one|mismatch|must|both|expected|invalid)|validation errors? for DeepSpeed|DeepSpeedConfigError|[Ff]ound `?(?:optimizer|scheduler)`? configured in the DeepSpeed|client provided optimizer",
            "ValueError: Found `optimizer` configured in the DeepSpeed config, but no `scheduler`. Please configure a scheduler in the DeepSpeed config.",
        ),
    ),
    kind_confidence=0.45,
    fires="ValueError: Please correct the following DeepSpeed config values that mismatch TrainingArguments values:\n- ds train_micro_batch_size_per_gpu=8 vs hf per_device_train_batch_size=4\nThe easiest method is to set these DeepSpeed config values to 'auto'.",
    quiet="DeepSpeed config values taken from TrainingArguments",
)
