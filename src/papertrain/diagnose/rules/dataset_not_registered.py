"""The data set's name is not registered, or cannot be fetched."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR562",
    "dataset-not-registered",
    "data-template",
    title="The data set's name is not registered, or cannot be fetched",
    why="The name is looked up in dataset_info.json (or on the hub) and is not there.",
    sig=(
        "Undefined dataset",
        "Failed to retrieve the dataset",
        "Cannot find dataset_info",
        "Couldn't find a dataset script",
        "Couldn't find any data file",
        "DatasetNotFoundError",
        "doesn't exist on the Hub or cannot be accessed",
        "Cannot open ~ dataset_info.json",
    ),
    confidence=0.95,
    next_check="python -c \"import json; print(list(json.load(open('data/dataset_info.json'))))\"",
    fixes=(
        fix(
            "register it",
            '"my_data": {"file_name": "train.jsonl"}   # in dataset_info.json of dataset_dir',
            sets={"dataset_dir": "<folder of dataset_info.json>"},
            proof="the run prints the number of examples",
        ),
    ),
    fires="ValueError: Undefined dataset my_reviews in dataset_info.json.",
    quiet="Loading dataset alpaca_en_demo.json...",
)
