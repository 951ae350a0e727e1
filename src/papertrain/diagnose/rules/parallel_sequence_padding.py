"""Two parts pad the sequence to different multiples."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR551",
    "parallel-sequence-padding",
    "deepspeed-parallel",
    title="Two parts pad the sequence to different multiples",
    why="The two lengths are close together: one side was padded to a multiple (8, 64, the parallel degree), the other not.",
    sig=(
        "expanded size ~ expanded size of the tensor \\((\\d+)\\) must match the existing size \\((\\d+)\\)(?!.*Tensor sizes: \\[1, \\d+\\])",
        "must be divisible by ~ (?i)seq\\w*.{0,40}must be divisible by",
        "divisible by ~ (?i)(?:dimension|seq\\w*|tokens?|length)\\b.{0,60}divisible by.{0,24}(?:tensor|sequence|context)[ _-]?(?:model[ _-]?)?parallel",
        "Sizes of tensors must match except in dimension",
    ),
    confidence=0.7,
    next_check="print the shapes of input_ids, labels and attention_mask of one batch",
    fixes=(
        fix(
            "one padding factor for all of them",
            "DataCollatorForSeq2Seq(tokenizer, pad_to_multiple_of=8)",
            sets={"pad_to_multiple_of": 8},
            proof="the three shapes agree",
        ),
    ),
    kinds=(
        (
            "(?:heads?|hidden|dim(?:ension)?s?|size|seq\\w*|vocab\\w*|layers?|experts?|\\d+)\\b.{0,60}(?:divisible by|multiple of|evenly (?:divide|split))|cannot (?:be )?(?:evenly )?split",
            "AssertionError: number of attention heads must be divisible by tensor parallel size",
        ),
    ),
    kind_confidence=0.45,
    fires="RuntimeError: The expanded size of the tensor (517) must match the existing size (502) at non-singleton dimension 3.",
    quiet="sequence length 512 on all ranks",
)
