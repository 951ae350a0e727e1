"""The data set's name is not registered, or cannot be fetched."""

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, by_signature, cause, fix

IN_CODE = (
    "is not in the dataset registry",
    "is not registered! Available datasets ~ Dataset '.*' is not registered!",
)
"""Registries of MMDetection and Detectron2."""


def judge(case: Case) -> Match | None:
    lines = case.find(*IN_CODE)
    if not lines:
        return by_signature(RULE, case)
    return RULE.found(
        0.95,
        lines[:1],
        cause="The name is looked up among the data sets that imported code has registered.",
        remedies=(
            fix(
                "import the module that registers it, and write the name as it is registered",
                'DATASETS.TEST = ("<name>",)   # a tuple of one needs its comma: without it every letter is a name',
                proof="the run prints the number of examples",
            ),
        ),
    )


RULE = cause(
    "TR562",
    "dataset-not-registered",
    "data-template",
    title="The data set's name is not registered, or cannot be fetched",
    why="The name is looked up in dataset_info.json (or on the hub) and is not there.",
    sig=(
        *IN_CODE,
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
    judge=judge,
    next_check="python -c \"import json; print(list(json.load(open('data/dataset_info.json'))))\"",
    fixes=(
        fix(
            "register it",
            '"my_data": {"file_name": "train.jsonl"}   # in dataset_info.json of dataset_dir',
            sets={"dataset_dir": "<folder of dataset_info.json>"},
            proof="the run prints the number of examples",
        ),
    ),
    kinds=(
        (
            "[Uu]nknown split|[Bb]ad split|BuilderConfig .{0,40}not found|(?:can ?not|can't|couldn't|could not|unable to|failed to) (?:find|open|read|locate|load|access) .{0,40}(?:data ?set|data file|\\.(?:jsonl?|csv|parquet|arrow|txt|tsv)\\b)|Unable to find '|(?:data ?set|data file|data path|data_files?)\\b.{0,80}(?:not found|does(?: not|n't) exist|cannot be found|not (?:available|supported|defined))|No such file or directory: '[^']*\\.(?:jsonl?|csv|parquet|arrow|txt|tsv|idx|npy|png|jpe?g|wav|mp3|flac)'|[Cc]an ?not load dataset",
            "ValueError: Unknown split \"validation\". Should be one of ['train'].",
        ),
    ),
    fires="ValueError: Undefined dataset my_reviews in dataset_info.json.",
    quiet="Loading dataset alpaca_en_demo.json...",
)
