"""A quantised model has no adapter to train."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR600",
    "quantized-without-adapter",
    "not-learning",
    title="A quantised model has no adapter to train",
    why="4-bit and 8-bit weights cannot be trained themselves.",
    sig=(
        "purely quantized models",
        "model is not supported yet ~ Training an? \\d-bit model is not supported",
        "You cannot perform fine-tuning on purely quantized models",
        "fine-tuning on purely quantized",
    ),
    confidence=0.97,
    never=(),
    next_check="model.print_trainable_parameters()",
    fixes=(
        fix(
            "attach adapters",
            "model = get_peft_model(prepare_model_for_kbit_training(model), LoraConfig(target_modules='all-linear', …))",
            sets={"method": "lora"},
            effect="experiment",
            proof="trainable params above 0",
        ),
    ),
    kinds=(
        (
            "(?:fine-?tun|train)\\w*.{0,60}(?:quantized|8-?bit|4-?bit).{0,80}(?:not support|not possible|not yet|require|only)|(?:quantized|load_in_[48]bit).{0,80}(?:only be used for|without (?:setting )?an adapter|requires? (?:an )?adapter|do(?:es)? not support training)",
            "ValueError: load_in_8bit and load_in_4bit are not supported without setting an adapter for training.",
        ),
    ),
    fires="ValueError: You cannot perform fine-tuning on purely quantized models. Please attach trainable adapters on top of the quantized model to correctly perform fine-tuning.",
    quiet="4-bit model with LoRA adapters",
)
