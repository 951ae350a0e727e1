"""The tokenizer has no chat template."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR573",
    "chat-template-missing",
    "data-template",
    title="The tokenizer has no chat template",
    why="A base model brings none; an instruct model does.",
    sig=(
        "tokenizer.chat_template is not set",
        "chat_template is not set",
        "no default chat template",
        "Template ~ Template \\S+ does not exist",
        "does not have a chat template",
    ),
    confidence=0.95,
    next_check='python -c "print(tokenizer.chat_template)"',
    fixes=(
        fix(
            "a template: that of the model's own family, the same for training and serving",
            "tokenizer.chat_template = open('template.jinja').read()",
            sets={"template": "<family's template>"},
            effect="experiment",
            proof="papertrain check train.jsonl --show 1",
        ),
    ),
    kinds=(
        (
            "chat[_ ]template.{0,100}(?:not|missing|none|require|must|no )|(?:no|without a|missing|find a) (?:chat )?template",
            "ValueError: chat_template is required for this model",
        ),
    ),
    fires="ValueError: Cannot use chat template functions because tokenizer.chat_template is not set and no template argument was passed!",
    quiet="chat template: 1,204 characters",
)
