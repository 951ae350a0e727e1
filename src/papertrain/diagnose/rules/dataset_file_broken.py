"""A row of the data file cannot be parsed."""

import re

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, by_signature, cause, fix

_READS = re.compile(r"\bjson\.loads?\(")
_ROWS = re.compile(r"(?i)line|row|jsonl|data|train|sample|record|example|corpus|\.csv")


def judge(case: Case) -> Match | None:
    """Not where the script itself reads something else: its config, an answer of a server."""
    found = by_signature(RULE, case)
    if found is None or case.root is None or "JSONDecodeError" not in case.root.type:
        return found
    own = case.root.own
    return None if own is not None and _READS.search(own.code) and not _ROWS.search(own.code) else found


RULE = cause(
    "TR664",
    "dataset-file-broken",
    "data-template",
    title="A row of the data file cannot be parsed",
    why="The reader stops at a row that is no valid JSON (or CSV): a missing comma or quote, a row cut off, or a file that is one array instead of one object a line.",
    judge=judge,
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
    kinds=(
        (
            "ArrowInvalid|ArrowTypeError|DatasetGenerationError|Couldn't cast|cannot mix list and non-list|Could not convert .{0,80}with type|UnicodeDecodeError|codec can't decode|An error occurred while generating the dataset|(?:jsonl?|csv|parquet).{0,60}(?:malformed|invalid|broken|cannot be parsed)",
            "datasets.exceptions.DatasetGenerationError: An error occurred while generating the dataset",
        ),
    ),
    fires="pyarrow.lib.ArrowInvalid: JSON parse error: Missing a comma or '}' after an object member. in row 1",
    quiet="Generating train split: 1000 examples",
)
