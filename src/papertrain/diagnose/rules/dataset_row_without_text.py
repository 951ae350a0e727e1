"""A row of the data has no text where the tokenizer needs one."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR667",
    "dataset-row-without-text",
    "data-template",
    title="A row of the data has no text where the tokenizer needs one",
    why="A field is null, a number or a list in some row: the tokenizer takes a text, or a list of texts.",
    sig=(
        "You need to specify either `text` or `text_target`",
        "text input must be of type `str`",
        "TextEncodeInput must be Union",
        "TextInputSequence must be str",
        "text input must of type",
        "argument 'text': 'NoneType' object cannot be converted",
    ),
    confidence=0.88,
    next_check="papertrain check train.jsonl   # names the rows whose text is empty or no text",
    fixes=(
        fix(
            "drop or fill the rows without a text",
            "dataset = dataset.filter(lambda row: isinstance(row['text'], str) and row['text'].strip() != '')",
            "papertrain check train.jsonl   # names the rows by line",
            effect="experiment",
            proof="papertrain check counts no row without a text",
        ),
    ),
    kinds=(
        (
            "default_collate: batch must contain tensors.{0,120}NoneType|(?:expected|must be) (?:a )?(?:str|string|text)\\b(?! or a number|, a bytes).{0,60}(?:got|found|but|not) .{0,20}(?:None|NoneType|float|nan|int)|expected str(?:ing)? instance, (?:NoneType|float|int) found",
            "TypeError: default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found <class 'NoneType'>",
        ),
    ),
    fires="ValueError: You need to specify either `text` or `text_target`.",
    quiet="texts: 5,120 rows, all strings",
)
