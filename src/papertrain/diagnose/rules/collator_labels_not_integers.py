"""Labels are texts where numbers are needed."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR571",
    "collator-labels-not-integers",
    "data-template",
    title="Labels are texts where numbers are needed",
    why="The collator turns each column into a tensor; this one holds strings. Padding, which the message advises, does not help.",
    sig=(
        "too many dimensions 'str'",
        "can't convert np.ndarray of type numpy.str_",
        "expected scalar type Long but found Float",
        "new(): invalid data type 'str'",
    ),
    confidence=0.82,
    never=("expected sequence of length",),
    next_check="python -c \"print(type(dataset[0]['labels']), dataset[0]['labels'])\"",
    fixes=(
        fix(
            "numbers for labels",
            "dataset = dataset.class_encode_column('labels')",
            effect="execution",
            proof="dataset.features['labels'] is a ClassLabel",
        ),
        fix("remove columns of text before the collator", "dataset = dataset.remove_columns(['text'])"),
    ),
    fires="ValueError: too many dimensions 'str'\nValueError: Unable to create tensor, you should probably activate truncation and/or padding with 'padding=True' 'truncation=True' to have batched tensors with the same length. Perhaps your features (`labels` in this case) have excessive nesting",
    quiet="labels: int64",
)
