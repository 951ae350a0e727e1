"""Scores and predictions that cannot mean what they seem to: said before somebody builds on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from papertrain.results import names
from papertrain.results.metrics.classify import NO_ANSWER
from papertrain.results.records import Issue, Items, Score

SHARES = frozenset({
    "acc", "accuracy", "balanced_accuracy", "f1", "macro_f1", "micro_f1", "weighted_f1", "precision", "recall", "auc", "roc_auc", "em", "exact_match", "token_f1",
})  # fmt: skip
FEW_CLASSES = 20
ENOUGH = 10


def of_items(items: Iterable[Items]) -> list[Issue]:
    """Predictions that are empty, or none of the labels; labels that are all the same."""
    return [i for one in items for i in _of_items(one)]


def of_scores(scores: Iterable[Score]) -> list[Issue]:
    """Shares below 0 or above 100."""
    out = []
    for s in scores:
        if s.value is not None and names.key(s.metric) in SHARES and not 0 <= s.value <= 100:
            says = f"{s.system or 'the file'}: {names.pretty(s.metric)} of {s.value:g} is not possible: a share lies from 0 to 1, or to 100 %"
            out.append(Issue(says=says, file=s.file, code="impossible-score", system=s.system, column=s.metric))
    return out


def _of_items(items: Items) -> list[Issue]:
    if items.label is None or items.prediction is None:
        return []
    who = " ".join(x for x in (items.system, items.dataset) if x) or items.file
    labels, predictions = [_word(x) for x in items.label], [_word(x) for x in items.prediction]
    out = []
    silent = NO_ANSWER - set(labels)
    empty = sum(p in silent for p in predictions)
    if empty:
        out.append(
            _issue(
                items, "empty-predictions", f"{who}: {empty:,} of {items.n:,} predictions are empty and count as wrong"
            )
        )
    known = set(labels)
    if items.n < ENOUGH or len(known) > FEW_CLASSES or 2 * len(known) > items.n or _measures(items.label):
        return out
    if len(known) == 1:
        out.append(
            _issue(
                items,
                "one-class",
                f"{who}: every label is {_shown(items.label)}: a constant answer would be right everywhere",
            )
        )
    if empty < items.n and not known & set(predictions):
        says = f"{who}: no prediction is any of the labels ({_shown(items.prediction)} against {_shown(items.label)}): other spelling, or the wrong column?"
        out.append(_issue(items, "no-label-predicted", says))
    return out


def _issue(items: Items, code: str, says: str) -> Issue:
    return Issue(says=says, file=items.file, code=code, system=items.system)


def _word(x: Any) -> str:
    return str("" if x is None else x).strip().lower().removesuffix(".0")


def _shown(values: Sequence[Any]) -> str:
    return repr(str(next((v for v in values if _word(v)), ""))[:30])


def _measures(labels: Sequence[Any]) -> bool:
    """Numbers with a fraction: something is measured, not classified."""
    try:
        return any(float(x) % 1 for x in labels)
    except (TypeError, ValueError, OverflowError):
        return False
