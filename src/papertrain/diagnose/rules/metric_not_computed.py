"""The best model is chosen by a metric that evaluation does not return."""

import re

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix

_THERE = re.compile(
    r"(?:available evaluation metrics are:|the returned metrics:|[Aa]vailable metrics are:|any of the following:) \[?(.*?)(?:\]|\. HINT|$)"
)
_MONITORED = re.compile(
    r"not find the monitored key|not found in the returned metrics|conditioned on metric .{1,80} which is not available"
)
"""Lightning's own words; a warning of the same text stops nothing."""
WATCHED = "What is watched (monitor) is not among the names that the module logs."
MONITOR = (
    fix(
        "a name that the module logs",
        'ModelCheckpoint(monitor="<one of these names>")   # EarlyStopping: the same',
        proof="the next evaluation passes",
    ),
    fix("or log it under the name that is watched", 'self.log("<name>", value)   # in validation_step'),
)


def judge(case: Case) -> Match | None:
    hits = case.find(*RULE.sig)
    watched = next((e for e in case.exceptions if _MONITORED.search(e.message)), None)
    if not hits and watched is None:
        return None
    there = next((m[1] for e in case.exceptions if (m := _THERE.search(e.message))), "")
    if watched is not None:
        says = f"{WATCHED} There is {there}." if there else WATCHED
        return RULE.found(0.93, [watched.quote()], cause=says, remedies=MONITOR)
    return RULE.found(0.9, hits[:1], cause=f"{RULE.why} Evaluation returned {there}." if there else "")


RULE = cause(
    "TR674",
    "metric-not-computed",
    "environment",
    title="The metric that chooses the best model is not computed",
    why="load_best_model_at_end, early stopping and ReduceLROnPlateau read metric_for_best_model (eval_loss, where none is named) from what evaluation returns. Without labels in the batches there is no eval_loss; without compute_metrics no other.",
    judge=judge,
    sig=(
        "not found in the evaluation metrics",
        "metric_for_best_model ~ which is not found in the evaluation",
        "KeyError: 'eval_ ~ KeyError: 'eval_\\w+'",
    ),
    next_check="trainer.evaluate()   # the names that it returns",
    fixes=(
        fix(
            "a metric that evaluation returns",
            'metric_for_best_model="eval_loss"   # or what compute_metrics returns, with eval_ before it',
            proof="the next evaluation passes",
        ),
        fix(
            "labels that the Trainer finds, for eval_loss",
            'label_names=["labels"]   # the names of the label columns in the batches',
            proof="evaluation prints eval_loss",
        ),
    ),
    kinds=(
        (
            "metric_for_best_model.{0,60}(?:must|not|provid|required|requires)|best_metric|KeyError: 'eval_",
            "ValueError: `args.metric_for_best_model` must be provided when using 'best' save_strategy",
        ),
    ),
    fires="KeyError: 'eval_accuracy'",
    quiet="metric_for_best_model: eval_loss",
)
