"""Some answers are empty."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR566",
    "dataset-empty-assistant",
    "data-template",
    title="Some answers are empty",
    why="A row without an assistant's text has nothing to learn from, and some templates fail on it.",
    sig=(
        "empty assistant",
        "assistant ~ (?i)(empty|missing|no) (assistant|response|answer)|assistant (message|turn|content) is (empty|None)",
        "Dropped invalid example",
        "'NoneType' object has no attribute 'strip'",
        'can only concatenate str (not "NoneType") to str',
    ),
    confidence=0.72,
    early=True,
    next_check="papertrain check train.jsonl",
    fixes=(
        fix(
            "drop the rows without an answer",
            "papertrain check train.jsonl   # lists them by line",
            effect="experiment",
            proof="papertrain check train.jsonl counts no empty answer",
        ),
    ),
    fires="ValueError: row 812: assistant message is empty",
    quiet="assistant turns: 5,120",
)
