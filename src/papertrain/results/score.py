"""Items → scores: what kind of task the columns show, and which metrics belong to it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterable, Sequence

from papertrain.core.errors import PapertrainError, nearest
from papertrain.results.kinds import OF_CLASSES, OF_NUMBERS, OF_TEXT, READINGS, task
from papertrain.results.metrics import classify, other, text
from papertrain.results.metrics.measured import Measured
from papertrain.results.records import Items
from papertrain.results.source import number

MAIN = {
    "classification": ("accuracy", "macro_f1"),
    "text": ("em", "token_f1"),
    "regression": ("rmse", "pearson"),
    "ranking": ("mrr", "ndcg@10"),
    "scores": ("auc", "brier"),
    "given": (),
}
"""What a comparison shows unless the user names metrics."""
TEXT_EXTRA = OF_TEXT - {"em", "token_f1"}
OF_EACH_CLASS = re.compile(r"(precision|recall|f1)\[.+\]")


def spelled(metric: str, kind: str, asked: Sequence[str], given: Collection[str]) -> str:
    """A metric under our name for it: `exact_match` is em; `f1` beside it, or of text, is the F1 of tokens."""
    name = metric.lower()
    if name in given:
        return name
    if name in ("exact_match", "exactmatch"):
        return "em"
    text_beside = kind == "text" or bool({"em", "exact_match", "exactmatch"} & {a.lower() for a in asked})
    return "token_f1" if name == "f1" and text_beside else name


def measure(
    items: Items,
    wanted: Sequence[str] | None = None,
    *,
    classes: Iterable[str] | None = None,
    positive: str = "",
    everything: bool = False,
    kind: str = "",
) -> list[Measured]:
    """Scores of one system on one test set: the main ones, the wanted ones, or everything. Raises PapertrainError for a
    metric that these columns cannot give."""
    with warnings.catch_warnings():
        # what scikit-learn warns of (one class, no such class) is said by our own checks, with the system's name
        warnings.simplefilter("ignore", UserWarning)
        return _measured(
            items, wanted, classes=classes, positive=positive, everything=everything, kind=kind or task(items)
        )


def _measured(
    items: Items,
    wanted: Sequence[str] | None,
    *,
    classes: Iterable[str] | None,
    positive: str,
    everything: bool,
    kind: str,
) -> list[Measured]:
    found: dict[str, Measured] = dict(other.given(items.scored, items.directions))
    if "nll" in items.scored:
        found |= other.perplexity(items.scored["nll"], items.scored["tokens"])
    label, said = items.label, items.prediction
    names = [spelled(w, kind, wanted or (), {k.lower() for k in items.scored}) for w in wanted or ()]
    asked = set(names)
    if label is not None and said is not None:
        if kind == "ranking":
            found |= other.ranking(label, said)
        if kind == "regression" or (kind in READINGS and asked & OF_NUMBERS and _all_numbers([*label, *said])):
            found |= other.regression([number(x) or 0.0 for x in label], [number(x) or 0.0 for x in said])
        if _by_class(kind, asked, label):
            found |= classify.hard(label, said, list(classes) if classes else None)
        if kind == "text" or asked & {"em", "token_f1"}:
            found |= text.exact(label, said)
        extra = (
            asked & TEXT_EXTRA
            if not (everything and kind == "text" and not asked)
            else {"bleu", "chrf", "rouge1", "rouge2", "rougel"}
        )
        if extra & {"bleu", "chrf", "ter"}:
            found |= text.translation(label, said, sorted(extra & {"bleu", "chrf", "ter"}))
        if extra & {"rouge1", "rouge2", "rougel"}:
            found |= text.rouge(label, said)
        if extra & {"wer", "cer"}:
            found |= text.speech(label, said, sorted(extra & {"wer", "cer"}))
    soft = everything or kind == "scores" or bool(asked & {"auc", "ap", "log_loss", "brier", "ece"})
    if label is not None and soft and kind in ("classification", "scores"):
        if items.probabilities:
            found |= classify.soft_multi(label, items.probabilities)
        elif items.score is not None and len(set(map(classify.text, label))) == 2:
            found |= classify.soft_binary(label, items.score, positive)
    if asked:
        missing = [w for w in sorted(asked) if w not in {k.lower() for k in found}]
        if missing:
            why = (
                " (areas need a score or probability column: hard labels have none)"
                if missing[0] in ("auc", "ap")
                else ""
            )
            raise PapertrainError(
                f"no metric {missing[0]!r} from these columns{why}",
                code="no-metric",
                file=items.file,
                nearest=nearest(missing[0], [*found, *TEXT_EXTRA, "em", "token_f1"]),
            )
        lower = {k.lower(): v for k, v in found.items()}
        return [lower[w] for w in names]
    if everything:
        return list(found.values())
    main = [found[m] for m in MAIN[kind] if m in found]
    rest = [m for k, m in found.items() if k in items.scored or k in ("accuracy", "perplexity")]
    return main or rest or list(found.values())[:2]


def _by_class(kind: str, asked: set[str], label: Sequence[object]) -> bool:
    """Whether the scores of classes are made: of classes unless only text was asked for, of other answers where asked for."""
    if kind == "classification":
        return not (asked and asked <= OF_TEXT)
    single = not any(isinstance(x, (list, dict)) for x in label)
    return kind in READINGS and single and any(a in OF_CLASSES or OF_EACH_CLASS.fullmatch(a) for a in asked)


def _all_numbers(values: Sequence[object]) -> bool:
    return all(number(v) is not None for v in values)
