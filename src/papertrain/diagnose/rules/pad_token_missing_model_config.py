"""No padding token is set in the model's config."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR574",
    "pad-token-missing-model-config",
    "data-template",
    title="No padding token is set in the model's config",
    why="The tokenizer may have one; the classification head reads the config.",
    sig=(
        "Cannot handle batch sizes > 1 if no padding token is defined",
        "Asking to pad but the tokenizer does not have a padding token",
    ),
    confidence=0.96,
    next_check='python -c "print(tokenizer.pad_token_id, model.config.pad_token_id)"',
    fixes=(
        fix(
            "set it in both",
            "tokenizer.pad_token = tokenizer.unk_token or '<pad>'; model.config.pad_token_id = tokenizer.pad_token_id",
            effect="execution",
            proof="a batch of two passes",
        ),
    ),
    kinds=(
        (
            "pad(?:ding)?[_ ]token(?:_id)?.{0,100}(?:not|must|none|missing|undefined|require|no )|no pad(?:ding)? token|attempting to pad|pad_token_id.{0,200}NoneType|NoneType.{0,200}pad_token",
            "ValueError: Pad_token_id must be set in the configuration of the model, in order to pad tensors",
        ),
    ),
    fires="ValueError: Cannot handle batch sizes > 1 if no padding token is defined.",
    quiet="pad token: <pad> (id 0)",
)
