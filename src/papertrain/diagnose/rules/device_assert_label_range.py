"""A label is outside of 0 … classes-1."""

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix
from papertrain.diagnose.rules import _asserts as asserts


def judge(case: Case) -> Match | None:
    return asserts.judge(
        case, RULE, r"cross_entropy|nll_loss|criterion|loss_fct|loss_function|CrossEntropyLoss|compute_loss"
    )


RULE = cause(
    "TR533",
    "device-assert-label-range",
    "index-dtype-graph",
    title="A label is outside of 0 … classes-1",
    why="The loss kernel asserts `t >= 0 && t < n_classes`: the head has fewer outputs than the largest label plus one, or an ignore value is not the configured ignore_index.",
    judge=judge,
    sig=(
        "t >= 0 && t < n_classes",
        "t >= 0 && t < C",
        "Target ~ Target -?\\d+ is out of bounds",
        "input_val >= zero && input_val <= one",
        "all elements of target should be between 0 and 1",
        "Class values must be smaller than num_classes",
        "Label values must be <= vocab_size",
        "Assertion `cur_target >= 0 && cur_target < n_classes`",
    ),
    confidence=0.96,
    early=True,
    unlike=(("device-assert-token-range", "the assertion is in the loss (labels), not in the embedding (token ids)"),),
    next_check="python -c \"import json; print(sorted({json.loads(l)['label'] for l in open('train.jsonl')}))\"",
    fixes=(
        fix(
            "drop the rows whose label no class has",
            data="labels",
            effect="experiment",
            proof="every label is one of the model's classes, and the first step passes",
        ),
        fix(
            "name the rows whose label is out of range and relabel or drop them (the data is yours: nothing is changed by itself)",
            "papertrain check train.jsonl",
            effect="experiment",
            proof="min(label) >= 0 and max(label) < num_labels",
        ),
        fix(
            "a head as large as the label set",
            "AutoModelForSequenceClassification.from_pretrained(name, num_labels=<max label + 1>)",
            sets={"num_labels": "<max label + 1>"},
            effect="experiment",
            proof="one batch passes on the CPU",
        ),
    ),
    fires="../aten/src/ATen/native/cuda/Loss.cu:250: nll_loss_forward_reduce_cuda_kernel_2d: block: [0,0,0], thread: [5,0,0] Assertion `t >= 0 && t < n_classes` failed.\nRuntimeError: CUDA error: device-side assert triggered",
    quiet="labels: 0 to 3, n_classes 4",
)
