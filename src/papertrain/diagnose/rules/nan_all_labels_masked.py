"""No label carries loss: the mean over nothing is NaN."""

import math

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix
from papertrain.diagnose.rules import _nan as nan

TOLD = (
    "labels in your dataset are -100 ~ (?i)(?:all|most) labels in your dataset are -100",
    "all labels are -100",
    "no trainable tokens",
)


def judge(case: Case) -> Match | None:
    """By the numbers; or by the words of a program that counted the labels itself and stopped."""
    if (found := nan.judge(case, RULE)) is not None:
        return found
    told = case.find(*TOLD)
    if not told or any(math.isfinite(v) and v > 0 for _, v in case.curve):
        return None
    marks = fix(
        "the marks of the template itself before question and answer (train_on_responses_only, response_template)",
        "print(tokenizer.apply_chat_template(messages, tokenize=False))   # copy the marks of user and assistant from here",
        effect="experiment",
        proof="trained tokens above 0 in every sample",
    )
    return RULE.found(0.93, told[:2], title="No label carries loss: every one is -100", remedies=(marks, *RULE.fixes))


RULE = cause(
    "TR623",
    "nan-all-labels-masked",
    "nan-overflow",
    branch="training",
    title="No label carries loss: the mean over nothing is NaN",
    judge=judge,
    sig=(*TOLD, *nan.MASKED, *nan.SDPA, *nan.BAD_DATA),
    why="Every label is -100: the cutoff ends before the answer begins, or the template's marks were not found in the text.",
    next_check="papertrain check DATA --show 1   # trained tokens of a sample",
    fixes=(
        fix(
            "a cutoff beyond the prompt",
            sets={"sequence_length": "*2"},
            effect="experiment",
            proof="trained tokens above 0 in every sample",
        ),
        fix(
            "the template of the model's family",
            sets={"template": "<family's template>"},
            effect="experiment",
            proof="no 'tokenization mismatch' line",
        ),
    ),
    fires="WARNING: tokenization mismatch: 120 vs. 118. (ignored)\n{'loss': nan, 'learning_rate': 2e-05, 'epoch': 0.01}\n{'loss': nan, 'learning_rate': 2e-05, 'epoch': 0.02}",
    quiet="trained tokens: 211 of 512",
)
