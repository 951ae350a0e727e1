"""Training is fine, the metric stands still: inputs and labels do not belong together at evaluation."""

import re

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix


def judge(case: Case) -> Match | None:
    names = {
        k
        for r in case.rows
        for k in r.values
        if re.search(r"(?i)(accuracy|acc|f1|map|bleu|rouge|exact_match|mcc|matthews|class_error|wer)\w*$", k)
        and re.match(r"(?i)(eval|test|val)", k)
    }
    losses = [v for _, v in case.curve]
    for name in sorted(names):
        values = case.values(name)
        if (
            len(values) >= 3
            and max(values) - min(values) <= 0.001 * max(1.0, abs(values[0]))
            and values[0] not in (1.0,)
            and not (values[0] == 100.0 and "error" not in name)
        ):
            moved = len(losses) >= 3 and losses[-1] < 0.95 * losses[0]
            row = case.series(name)
            return RULE.found(
                0.75 if moved else 0.55,
                [row[0][0].quote(), row[-1][0].quote()],
                cause=RULE.why + f" Here {name} is {values[0]:.4g} at all {len(values)} evaluations.",
            )
    return None


RULE = cause(
    "TR654",
    "low-score-data-loading",
    "result",
    branch="result",
    level="warning",
    title="Training is fine, the metric stands still: inputs and labels do not belong together at evaluation",
    judge=judge,
    why="The metric has the same value at every evaluation while the training loss falls: a wrong split, column or label map, or predictions of one class only.",
    next_check="print ten rows of the evaluation set with labels and predictions",
    fixes=(
        fix(
            "the same label map and columns for training and evaluation",
            "print(train.features['labels'], test.features['labels'])",
            effect="execution",
            proof="the metric moves between two evaluations",
        ),
    ),
    fires="\n".join(
        f"{{'loss': {1.1 - 0.1 * i:.3f}, 'learning_rate': 1e-05, 'epoch': {i}}}\n{{'eval_loss': {1.4 + 0.01 * i:.3f}, 'eval_accuracy': 0.25, 'eval_runtime': 3.1, 'epoch': {i}}}"
        for i in range(1, 7)
    ),
    quiet="\n".join(
        f"{{'loss': {1.1 - 0.1 * i:.3f}, 'learning_rate': 1e-05, 'epoch': {i}}}\n{{'eval_loss': {1.0 - 0.05 * i:.3f}, 'eval_accuracy': {0.5 + 0.05 * i}, 'eval_runtime': 3.1, 'epoch': {i}}}"
        for i in range(1, 7)
    ),
)
