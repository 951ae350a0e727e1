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
    kinds=(
        (
            "KeyError: .{0,60}@ .{0,200}(?:examples?|samples?|rows?|items?|batch|datasets?|data|features?|element|record|instance|conversation|source|feature|inputs|df|x|ex|line)\\[",
            "KeyError: 'context' @ train.py:fmt q = example['context']",
        ),
        (
            "KeyError: '(?:train|test|validation|valid|dev|eval|image|images|audio|video|translation|question|context|answer|answers|completion|target|targets|tokens|ner_tags|input_ids|attention_mask|pixel_values|sentence\\d?|premise|hypothesis|id|conversation|system|tools|human|gpt|user|assistant|caption|file_name|path|filename|url|tags|summary|document|article|highlights|messages?|chosen|rejected|margin|score|reward)'",
            "KeyError: 'validation'",
        ),
        (
            "did not return a loss|not contain a 'loss' key|(?:column|field)'?s?'? .{0,60}needs? to be one of|Column \\d+ named \\w+ expected length|(?:dataset|data|example|sample|row|batch|input)s?\\b.{0,60}(?:must|should|does(?: not|n't)|needs? to|has to|required? to) (?:contain|have|include|provide).{0,60}(?:column|field|key|feature|chosen|rejected|prompt|completion|label)|(?:column|field|key|feature)s? .{0,60}(?:not found|missing|does(?: not|n't) exist|not (?:in|present)|required)|missing (?:required )?(?:column|field|key|feature)s?\\b|unpaired|paired format",
            "ValueError: The model did not return a loss from the inputs, only the following keys: logits. For reference, the inputs it received are input_ids,attention_mask.",
        ),
    ),
    kind_confidence=0.5,
    fires="KeyError: 'instruction'",
    quiet="columns: instruction, input, output",
)
