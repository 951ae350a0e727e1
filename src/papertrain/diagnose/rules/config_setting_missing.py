"""A setting or an input that another one needs was not given."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR684",
    "config-setting-missing",
    "environment",
    title="A setting or an input that another one needs was not given",
    why="The message names what is missing, and most often what asks for it.",
    confidence=0.6,
    next_check="papertrain check CONFIG",
    kinds=(
        (
            r"(?:must|needs? to|should|has to|have to) be (?:set|specified|provided|passed|given|defined|supplied|non-empty|enabled)|(?:please|you (?:need|must|have) to|must|should|need to) (?:set|specify|provide|pass|define|supply|give|enable)\b|\bis (?:a )?(?:required|missing|mandatory)\b|\brequires? (?:an?|either|the|a non|`?-{0,2}\w+[`:=]|at least)|(?:was|were|is|are) not (?:set|specified|provided|passed|given|defined)|\bneeds? (?:an?|the) |layer class to wrap",
            "ValueError: Trainer: training requires a train_dataset.",
        ),
    ),
    kind_confidence=0.38,
    fixes=(
        fix(
            "give what the message names, or take out what asks for it",
            "papertrain check CONFIG",
            proof="the arguments are accepted",
        ),
    ),
    fires="ValueError: Trainer: training requires a train_dataset.",
    quiet="train_dataset: 12,000 rows",
)
