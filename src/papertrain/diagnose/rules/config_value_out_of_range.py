"""A number in the settings is outside of what the library takes."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR685",
    "config-value-out-of-range",
    "environment",
    title="A number in the settings is outside of what the library takes",
    why="The message gives the bound, and most often the value that was given.",
    confidence=0.6,
    next_check="papertrain check CONFIG",
    kinds=(
        (
            r"(?:must|should|has to|have to|expected)(?: value)?.{0,40}(?:be |is )?(?:\b(?:positive|non-?negative|non-?zero|greater|less|larger|smaller|bigger|higher|lower|between|at least|at most|strictly|in (?:the )?(?:range|interval)|in [\[(])|[<>]=? ?-?\d)|\binvalid (?:learning rate|epsilon|beta|weight_decay|momentum|lr|max_lr|dropout)\b|max seq len .{0,60}(?:larger|greater) than|is (?:larger|greater|smaller|less) than (?:the )?(?:max|min)\w*",
            "ValueError: Got warmup_steps = -3, Expected value warmup_steps >= 0",
        ),
    ),
    kind_confidence=0.44,
    fixes=(
        fix(
            "a value inside the bound that the message gives",
            "papertrain check CONFIG",
            effect="experiment",
            proof="the arguments are accepted",
        ),
    ),
    fires="ValueError: Value of 'warmup_ratio' must be between 0 and 1, got 100",
    quiet="warmup_ratio: 0.03",
)
