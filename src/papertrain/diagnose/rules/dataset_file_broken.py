"""A row of the data file cannot be parsed."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR664",
    "dataset-file-broken",
    "data-template",
    title="A row of the data file cannot be parsed",
    why="The reader stops at a row that is no valid JSON (or CSV): a missing comma or quote, a row cut off, or a file that is one array instead of one object a line.",
    sig=(
        "JSON parse error",
        "CSV parse error",
        "pandas.errors.ParserError",
        "json.decoder.JSONDecodeError ~ JSONDecodeError",
        "Error tokenizing data",
    ),
    confidence=0.85,
    next_check="papertrain check train.jsonl",
    fixes=(
        fix(
            "mend the row that the message names (rows count from 0 inside the block that was read)",
            "papertrain check train.jsonl   # names the line",
            proof="papertrain check finds no broken row",
        ),
    ),
    fires="pyarrow.lib.ArrowInvalid: JSON parse error: Missing a comma or '}' after an object member. in row 1",
    quiet="Generating train split: 1000 examples",
)
