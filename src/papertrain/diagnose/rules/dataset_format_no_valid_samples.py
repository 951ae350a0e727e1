"""No row of the data is valid for this stage and template."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR569",
    "dataset-format-no-valid-samples",
    "data-template",
    title="No row of the data is valid for this stage and template",
    why="Role order, empty answers, or preference data in a supervised stage (and the reverse): every row was refused.",
    sig=(
        "Cannot find valid samples",
        "The dataset is not applicable in the current training stage",
        "cannot find valid samples",
    ),
    confidence=0.93,
    yields=("cli-args-broken-line-continuation",),
    next_check="papertrain check train.jsonl --show 1",
    fixes=(
        fix(
            "the format of the stage",
            "papertrain check train.jsonl --show 1   # says what the first row lacks",
            '"formatting": "sharegpt", "ranking": true   # in dataset_info.json, where it is preference data',
            proof="the run prints a tokenised example",
        ),
    ),
    fires="RuntimeError: Cannot find valid samples, check `data/README.md` for the data format.",
    quiet="training example: input_ids: [151644, 8948]",
)
