"""A column that the code asks for is not in the data."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR563",
    "dataset-columns",
    "data-template",
    title="A column that the code asks for is not in the data",
    why="The name in the config or collator differs from the file's.",
    sig=(
        "not in the dataset ~ (?i)column",
        "KeyError ~ KeyError: '(instruction|input|output|prompt|response|conversations|messages|text|label|labels|chosen|rejected|query|history|content|value|from|role|sentence\\w*)'",
        "Column name ~ (?i)column name .* not in the dataset",
        "isn't a column",
        "DatasetGenerationCastError",
        "All the data files must have the same columns",
        "column names don't match",
        "There are ~ new columns",
    ),
    confidence=0.86,
    next_check="head -1 train.jsonl   # keys, against the config's columns",
    fixes=(
        fix(
            "map the columns",
            '"columns": {"prompt": "<your column>", "response": "<your column>"}   # in dataset_info.json',
            effect="execution",
            proof="the run prints a tokenised example",
        ),
    ),
    fires="KeyError: 'instruction'",
    quiet="columns: instruction, input, output",
)
