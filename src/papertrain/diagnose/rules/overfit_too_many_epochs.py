"""Evaluation gets worse while training gets better: too many epochs."""

import itertools
import math
import re
import statistics

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix


def improves(case: Case, line: int, prefix: str) -> bool:
    """Some primary metric still got better after the best evaluation loss."""
    for name in {
        k
        for r in case.rows
        for k in r.values
        if re.search(r"(?i)(accuracy|f1|bleu|rouge\w*|map|wer|cer|exact_match)$", k) and k.startswith((prefix, "test"))
    }:
        series = case.series(name)
        before, after = [v for r, v in series if r.line <= line], [v for r, v in series if r.line > line]
        down = bool(re.search(r"(?i)(wer|cer)$", name))
        if before and after and ((min(after) < 0.995 * min(before)) if down else (max(after) > 1.005 * max(before))):
            return True
    return False


def judge(case: Case) -> Match | None:
    names = sorted(
        {k for r in case.rows for k in r.values if k == "eval_loss" or (k.startswith("eval_") and k.endswith("_loss"))}
    )
    for name in names[:8]:
        series = [(r, v) for r, v in case.series(name) if math.isfinite(v)]
        values = [v for _, v in series]
        if len(values) < 4:
            continue
        best_i = values.index(min(values))
        after = values[best_i + 1 :]
        best, last = values[best_i], statistics.median(values[-3:])
        noise = 1.05 * statistics.median(abs(b - a) for a, b in itertools.pairwise(values))
        train = [v for r, v in case.curve if r.line >= series[best_i][0].line]
        falling = len(train) < 4 or statistics.fmean(train[-len(train) // 3 :]) < statistics.fmean(
            train[: max(1, len(train) // 3)]
        )
        if (
            len(after) < 2
            or best <= 0
            or last < 1.3 * best
            or sum(v > best for v in after) < 0.8 * len(after)
            or not falling
            or last - best < 1.5 * noise
        ):
            continue
        if improves(case, series[best_i][0].line, name.removesuffix("_loss")):
            continue
        return RULE.found(
            0.9 if last > 1.5 * best else 0.75,
            [series[best_i][0].quote(), series[-1][0].quote()],
            cause=RULE.why + f" Here {name} was best at {best:.4g} and ended at {values[-1]:.4g}.",
        )
    return None


RULE = cause(
    "TR650",
    "overfit-too-many-epochs",
    "overfit",
    branch="training",
    level="warning",
    title="Evaluation gets worse while training gets better: too many epochs",
    judge=judge,
    why="After its best point the evaluation loss rises for good while the training loss falls.",
    next_check="papertrain watch LOG   # the step of the best evaluation",
    fixes=(
        fix(
            "stop at the best evaluation: early stopping, and keep the best checkpoint",
            sets={
                "load_best_model_at_end": True,
                "early_stopping_patience": 3,
                "epochs": "<epochs of the best evaluation>",
            },
            effect="experiment",
            proof="the last evaluation is within 5 % of the best",
        ),
        fix("more regularisation: dropout, weight decay, lower rank", sets={"lora_dropout": 0.1}, effect="experiment"),
    ),
    fires="\n".join(
        f"{{'loss': {1.4 * 0.8**i:.3f}, 'learning_rate': 1e-05, 'epoch': {i}}}\n{{'eval_loss': {e}, 'eval_runtime': 3.1, 'epoch': {i}}}"
        for i, e in enumerate([1.30, 1.12, 1.10, 1.25, 1.48, 1.77, 1.95], 1)
    ),
    quiet="\n".join(
        f"{{'loss': {1.4 * 0.9**i:.3f}, 'learning_rate': 1e-05, 'epoch': {i}}}\n{{'eval_loss': {e}, 'eval_runtime': 3.1, 'epoch': {i}}}"
        for i, e in enumerate([1.30, 1.22, 1.15, 1.12, 1.10, 1.11, 1.10], 1)
    ),
)
