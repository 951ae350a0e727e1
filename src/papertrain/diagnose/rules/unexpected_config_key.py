"""The framework does not know a key of the config."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR554",
    "unexpected-config-key",
    "environment",
    title="The framework does not know a key of the config",
    why="A typing error, or a key of another version or another framework.",
    sig=(
        "Some keys are not used by the HfArgumentParser",
        "Extra inputs are not permitted",
        "Some specified arguments are not used by the HfArgumentParser",
        "unrecognized arguments:",
        "invalid choice:",
    ),
    confidence=0.9,
    next_check="papertrain check CONFIG   # names the nearest valid key",
    fixes=(fix("the valid name", "papertrain check CONFIG --fix", proof="papertrain check CONFIG finds nothing"),),
    fires="ValueError: Some keys are not used by the HfArgumentParser: ['lora_rankk']",
    quiet="all keys used",
)
