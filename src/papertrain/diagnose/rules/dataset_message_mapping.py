"""A message lacks the key that the template reads."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR565",
    "dataset-message-mapping",
    "data-template",
    title="A message lacks the key that the template reads",
    why="The template asks for role and content; the data says from and value, or is not a list of messages.",
    sig=(
        "has no attribute 'content'",
        "has no attribute 'role'",
        "Conversation roles must alternate",
        "Invalid role tag",
        "Invalid message",
        "'str object' has no attribute",
        "After the optional system message, conversation roles must alternate",
        "UndefinedError",
    ),
    confidence=0.93,
    next_check="papertrain check train.jsonl --show 1",
    fixes=(
        fix(
            "map the keys",
            '"tags": {"role_tag": "from", "content_tag": "value", "user_tag": "human", "assistant_tag": "gpt"}   # in dataset_info.json',
            "dataset.map(lambda r: {'messages': [{'role': m['from'], 'content': m['value']} for m in r['conversations']]})",
            proof="papertrain check train.jsonl --show 1 prints the rendered text",
        ),
    ),
    kinds=(
        (
            "TemplateError|(?:role|turn|conversation|message)s?\\b.{0,60}(?:must|should|alternate|expected|invalid|unknown|unexpected|not (?:a )?(?:supported|recogni[sz]ed|valid))|(?:unknown|invalid|unsupported|unexpected) (?:role|speaker|message|content type|conversation)|no valid messages|conversational",
            "ValueError: Unknown role 'bot' in a message",
        ),
        (
            "TypeError: (?:string indices must be integers|list indices must be integers).{0,400}@ .{0,200}(?:message|msg|conv|turn|role|content|example|sample|item|data)",
            "TypeError: string indices must be integers @ data.py:to_text return m['content'] for m in example['messages']",
        ),
    ),
    fires="jinja2.exceptions.UndefinedError: 'dict object' has no attribute 'content'",
    quiet="messages: role, content",
)
