"""Every example was dropped as too long."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR567",
    "dataset-too-long-all-dropped",
    "data-template",
    title="Every example was dropped as too long",
    why="The cutoff is shorter than the prompts, and the filter leaves nothing.",
    sig=(
        "longer than ~ (?i)(dropped|removed|skipp\\w+|filtered).{0,60}longer than",
        "too long ~ (?i)(all|every).{0,40}(too long|exceed)",
        "Dropped lengthy example",
        "No examples left after",
        "empty after ~ (?i)data ?set is empty after (dropping|filter|removing)",
        "Dropped ~ (?i)dropped \\d+ (?:too )?long (?:samples|examples|sequences)",
        "num_samples=0 ~ num_samples should be a positive integer value, but got num_samples=0",
    ),
    confidence=0.8,
    early=True,
    never=("out of bounds for size 0",),
    yields=("dataset-format-no-valid-samples",),
    next_check="papertrain check train.jsonl   # lengths against the cutoff",
    fixes=(
        fix(
            "a longer cutoff",
            sets={"sequence_length": "*2"},
            effect="experiment",
            proof="the number of examples is printed and is not 0",
        ),
        fix("split the long examples", "papertrain check train.jsonl", effect="experiment"),
    ),
    fires="[WARNING] 5120 samples dropped because they are longer than 512 tokens\nValueError: num_samples should be a positive integer value, but got num_samples=0",
    quiet="longest example 480 tokens, cutoff 512",
)
