"""The Trainer removed every column: none bears a name that the model's forward takes."""

import re

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix

_KEY = re.compile(r"KeyError: ['\"]([A-Za-z_]\w*)['\"]")
_TAKERS = re.compile(r"in (?:compute_loss|prediction_step|torch_call|\w*[Cc]ollat\w*)\b")
_MODELS = frozenset({"labels", "input_ids", "attention_mask", "instruction", "output", "messages", "conversations"})


def judge(case: Case) -> Match | None:
    zero = case.find(
        "is out of bounds for size 0",
        "No columns in the dataset match the model's forward method signature",
        "You should supply an encoding or a list of encodings to this method",
    )
    if not zero:
        return taken(case)
    removed = case.find("don't have a corresponding argument")
    kept = case.facts.true("remove_unused_columns") is False
    confidence = 0.55 if kept else 0.93 if removed or "size 0" not in zero[0].text else 0.82
    return RULE.found(confidence, [zero[0], *removed[:1]])


def taken(case: Case) -> Match | None:
    """A loss or a collator of the user's own that asks for a column which the Trainer has dropped."""
    for log in case.logs:
        for i in log.having("KeyError"):
            m = _KEY.search(log.lines[i].text)
            near = " ".join(x.text for x in log.lines[max(0, i - 6) : i])
            if m and m[1] not in _MODELS and _TAKERS.search(near):
                why = f" Here the code asks for {m[1]}, which the model's forward does not take."
                return RULE.found(0.88, [log.quote(i)], cause=RULE.why + why)
    return None


RULE = cause(
    "TR564",
    "dataset-columns-removed-by-trainer",
    "data-template",
    title="The Trainer removed every column: none bears a name that the model's forward takes",
    why="Unused columns are dropped by name; what is left has length 0.",
    sig=(
        "is out of bounds for size 0",
        "No columns in the dataset match the model's forward method signature",
        "The following columns in the training set don't have a corresponding argument ~ don't have a corresponding argument",
    ),
    confidence=0.9,
    judge=judge,
    next_check='python -c "print(dataset.column_names)"   # empty after the Trainer: removed; empty before: map() returned nothing',
    fixes=(
        fix("keep the columns", sets={"remove_unused_columns": False}, proof="one batch is printed"),
        fix("names that the model takes", "dataset = dataset.rename_column('label', 'labels')"),
    ),
    kinds=(
        (
            "batch received was empty|You (?:must|have to|should) (?:specify|supply|provide) .{0,60}(?:input_ids|inputs_embeds|pixel_values|decoder_input_ids|input_features|labels)|got multiple values for argument 'input_ids'",
            "ValueError: You must specify exactly one of input_ids or inputs_embeds",
        ),
    ),
    fires="IndexError: Invalid key: 1203 is out of bounds for size 0",
    quiet="The following columns in the training set don't have a corresponding argument in `BertForSequenceClassification.forward` and have been ignored: text.",
)
