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
    kinds=(
        (
            "Found dtype (?:Double|Float|Long|Int|Bool) but expected",
            "RuntimeError: Found dtype Double but expected Float",
        ),
        (
            "(?:nll_loss|cross_entropy|bce|mse|cross_entropy_loss)\\w*\\\"? not implemented for '(?:Int|Long|Char|Bool|Float|Byte)'",
            "RuntimeError: \"nll_loss_forward_reduce_cuda_kernel_2d_index\" not implemented for 'Int'",
        ),
        (
            "could not convert string to float|expected.{0,60}(?:torch\\.long|torch\\.int64|\\bLong\\b).{0,40}(?:got|but|found)|result type Float can't be cast",
            "ValueError: could not convert string to float: 'positive'",
        ),
    ),
    fires="ValueError: too many dimensions 'str'\nValueError: Unable to create tensor, you should probably activate truncation and/or padding with 'padding=True' 'truncation=True' to have batched tensors with the same length. Perhaps your features (`labels` in this case) have excessive nesting",
    quiet="labels: int64",
)
