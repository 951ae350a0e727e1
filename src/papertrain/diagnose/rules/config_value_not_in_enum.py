"""A setting has a value that the library does not know."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR579",
    "config-value-not-in-enum",
    "environment",
    title="A setting has a value that the library does not know",
    why="The valid values stand in the message.",
    sig=(
        "is not a valid ~ is not a valid (?!JSON|file|path|url|zip|model|local|git|identifier|folder|repo)\\w+",
        "please select one of",
        "Input should be ~ Input should be '\\w+'",
        "value is not a valid enumeration member",
    ),
    confidence=0.86,
    next_check="papertrain check CONFIG",
    fixes=(
        fix(
            "one of the values that the message lists", "papertrain check CONFIG --fix", proof="the config is accepted"
        ),
    ),
    fires="ValueError: 'cosin' is not a valid SchedulerType, please select one of ['linear', 'cosine', 'constant']",
    quiet="scheduler: cosine",
)
