"""Training and serving use different templates."""

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix


def judge(case: Case) -> Match | None:
    marks = case.find(
        '"predict": " ~ "predict": "\\s*(<\\|im_start\\|>|<\\|start_header_id\\|>|assistant\\b|### ?(?:Response|Assistant)|\\[/?INST\\]|<start_of_turn>|Human:|User:)',
        '"predict": "<',
        "template mismatch ~ (?i)template mismatch",
    )
    if len(marks) < 3 and not case.find("template mismatch"):
        return None
    return RULE.found(0.78, marks[:3])


RULE = cause(
    "TR611",
    "low-score-wrong-template",
    "result",
    title="Training and serving use different templates",
    branch="result",
    judge=judge,
    sig=('"predict": "', '"predict": "<', "template mismatch"),
    why="Generations begin with role markers or run on: the model answers in a format that it was not trained in.",
    next_check="papertrain check train.jsonl --show 1   # against the prompt that is served",
    fixes=(
        fix(
            "the same template in both",
            sets={"template": "<the training template>"},
            effect="execution",
            proof="generations carry no role markers",
        ),
    ),
    fires='{"prompt": "user\\nhi", "predict": "<|im_start|>assistant\\nHello", "label": "Hello"}\n{"prompt": "user\\nyo", "predict": "<|im_start|>assistant\\nYo", "label": "Yo"}\n{"prompt": "user\\nso", "predict": "<|im_start|>assistant\\nSo", "label": "So"}',
    quiet='{"prompt": "<|im_start|>user", "predict": "Hello", "label": "Hello"}',
)
