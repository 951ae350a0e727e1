"""Labels have different lengths: the collator pads inputs but not labels."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR572",
    "collator-labels-not-truncated",
    "data-template",
    title="Labels have different lengths: the collator pads inputs but not labels",
    why="Input ids are padded and truncated, the labels beside them are not.",
    sig=(
        "stack expects each tensor to be equal size",
        "expected sequence of length ~ expected sequence of length \\d+ at dim \\d+",
        "Unable to create tensor, you should probably activate truncation and/or padding",
        "sequence length ~ Labels' sequence length \\d+ cannot exceed",
    ),
    confidence=0.72,
    more=("expected sequence of length", "labels", "sequence length ~ Labels' sequence length \\d+ cannot exceed"),
    never=("too many dimensions 'str'",),
    next_check="python -c \"print([len(x) for x in dataset[:8]['labels']])\"",
    fixes=(
        fix(
            "a collator that pads labels too",
            "DataCollatorForSeq2Seq(tokenizer, label_pad_token_id=-100, padding=True)",
            proof="one batch is built",
        ),
        fix("truncate labels where inputs are truncated", "labels = labels[:max_length]"),
    ),
    kinds=(
        (
            "inhomogeneous|setting an array element with a sequence|(?:should|must|to) be (?:of )?(?:the )?(?:equal|same) (?:size|length|shape)|cannot (?:be )?stack|unequal length|(?:different|inconsistent|mismatched) (?:lengths?|sizes?)|expected sequence",
            "ValueError: setting an array element with a sequence. The requested array has an inhomogeneous shape after 1 dimensions.",
        ),
        (
            "Expected input batch_size .{0,40} to match target batch_size|(?:inputs?|logits?|predictions?) .{0,40}(?:labels?|targets?).{0,40}(?:same (?:shape|size)|mismatch|match)|[Mm]ismatched shape of inputs and labels",
            "ValueError: Expected input batch_size (512) to match target batch_size (8).",
        ),
    ),
    kind_confidence=0.45,
    fires="ValueError: expected sequence of length 211 at dim 1 (got 187)\nValueError: Unable to create tensor, you should probably activate truncation and/or padding with 'padding=True' 'truncation=True'",
    quiet="batch built: [8, 512]",
)
