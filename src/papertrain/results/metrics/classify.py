"""Labels against predictions, and probabilities against labels (scikit-learn)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from papertrain.core.errors import PapertrainError
from papertrain.results.metrics.measured import Measured, mean_of, version
from papertrain.results.stats import corpus
from papertrain.results.stats.outcome import Floats

POSITIVE_NAMES = {"1", "true", "yes", "positive", "pos", "spam", "entailment", "1.0"}


def text(x: Any) -> str:
    """A class as text, so that 1, 1.0, "1" and " 1 " are one class."""
    if isinstance(x, bool):
        return str(x).lower()
    if isinstance(x, float) and x.is_integer():
        return str(int(x))
    s = str(x).strip()
    return s[:-2] if s.endswith(".0") and s[:-2].lstrip("-").isdigit() else s


NO_ANSWER = frozenset(("", "nan", "none", "null"))
"""What stands where a system said nothing: wrong, and, unless a gold label is called so, no class to average over."""


MOST_CELLS = 20_000_000
"""Items × classes. Beyond it the labels are identifiers or free text, and an average over classes says nothing."""


def classes_of(*columns: Sequence[Any]) -> list[str]:
    return sorted({text(x) for column in columns for x in column})


def _accuracy(t: Sequence[str], p: Sequence[str], library: str) -> Measured:
    return mean_of(
        [a == b for a, b in zip(t, p)],
        metric="accuracy",
        definition="share of items whose predicted label equals the gold label",
        library=library,
    )


def hard(
    labels: Sequence[Any], predictions: Sequence[Any], classes: Sequence[str] | None = None
) -> dict[str, Measured]:
    """Every score of hard labels. classes: of all systems of the comparison, so that the rows of two systems align."""
    try:
        from sklearn import metrics as sk
    except ImportError:
        raise PapertrainError(
            "scores of predictions need scikit-learn: pip install 'papertrain[results]'", code="needs-extra"
        ) from None
    t, p = [text(x) for x in labels], [text(x) for x in predictions]
    names = list(classes or classes_of(t, p))
    if len(names) * len(t) > MOST_CELLS:
        return {"accuracy": _accuracy(t, p, version("scikit-learn"))}
    rows = corpus.label_rows(t, p, names)
    silent = {c for c in set(p) - set(t) if c.lower() in NO_ANSWER}
    present = [c for c in classes_of(t, p) if c not in silent]
    aside = [i for i, c in enumerate(names) if c in silent]
    lib = version("scikit-learn")
    n = len(t)
    pr, rc, f1, support = sk.precision_recall_fscore_support(t, p, labels=present, zero_division=0)

    def whole(metric: str, value: float, statistic: Callable[[Floats], Floats], definition: str) -> Measured:
        return Measured(
            metric=metric,
            value=float(value),
            n=n,
            kind="corpus",
            definition=definition,
            library=lib,
            rows=rows,
            statistic=statistic,
        )

    out = {
        "accuracy": _accuracy(t, p, lib),
        "balanced_accuracy": whole(
            "balanced_accuracy",
            float(np.mean(rc[support > 0])),
            corpus.balanced_accuracy,
            "mean of the recalls of the classes",
        ),
        "macro_f1": whole(
            "macro_f1",
            float(np.mean(f1)),
            corpus.macro("f1", aside),
            "unweighted mean of the classes' F1; 0/0 counts as 0; no answer is wrong and no class",
        ),
        "macro_precision": whole(
            "macro_precision",
            float(np.mean(pr)),
            corpus.macro("precision", aside),
            "unweighted mean of the classes' precision; 0/0 counts as 0",
        ),
        "macro_recall": whole(
            "macro_recall",
            float(np.mean(rc)),
            corpus.macro("recall", aside),
            "unweighted mean of the classes' recall; 0/0 counts as 0",
        ),
        "weighted_f1": whole(
            "weighted_f1",
            float(np.average(f1, weights=support)),
            corpus.weighted_f1,
            "mean of the classes' F1 weighted by their support",
        ),
        "micro_f1": whole(
            "micro_f1",
            sk.f1_score(t, p, average="micro", zero_division=0),
            corpus.accuracy,
            "F1 of all decisions pooled; equals accuracy for one label per item",
        ),
        "mcc": whole("mcc", sk.matthews_corrcoef(t, p), corpus.mcc, "Matthews correlation of labels and predictions"),
    }
    if len(present) > 1:
        out["kappa"] = whole(
            "kappa", sk.cohen_kappa_score(t, p), corpus.kappa, "Cohen's kappa: agreement beyond chance"
        )
    for i, name in enumerate(present):
        which = names.index(name)
        for kind, values in (("precision", pr), ("recall", rc), ("f1", f1)):
            out[f"{kind}[{name}]"] = whole(
                f"{kind}[{name}]",
                float(values[i]),
                corpus.one_class(kind, which),
                f"{kind} of class {name!r}, support {int(support[i])}",
            )
    return out


def confusion(labels: Sequence[Any], predictions: Sequence[Any]) -> tuple[list[str], list[list[int]]]:
    """Classes and counts; rows are gold, columns predicted."""
    t, p = [text(x) for x in labels], [text(x) for x in predictions]
    names = classes_of(t, p)
    at = {c: i for i, c in enumerate(names)}
    table = [[0] * len(names) for _ in names]
    for a, b in zip(t, p):
        table[at[a]][at[b]] += 1
    return names, table


def positive_class(labels: Sequence[Any], given: str = "") -> str:
    """The positive class of two. Raises PapertrainError where it cannot be told."""
    names = classes_of(labels)
    if given:
        if given not in names:
            raise PapertrainError(
                f"no label {given!r} (labels: {', '.join(names[:8])})",
                code="bad-positive",
                ask=["--columns positive=NAME"],
            )
        return given
    match = [n for n in names if n.lower() in POSITIVE_NAMES]
    if len(names) == 2 and len(match) == 1:
        return match[0]
    raise PapertrainError(
        f"which of {', '.join(names[:6])} is the positive class of the score column?",
        code="ask-positive",
        ask=["--columns positive=NAME"],
    )


def _bins(confidence: Floats, right: Floats, count: int = 15) -> Floats:
    """Per item: one column group per bin with (count, confidence, correctness); sums give the calibration error."""
    at = np.minimum((confidence * count).astype(int), count - 1)
    rows = np.zeros((confidence.size, 3 * count))
    here = np.arange(confidence.size)
    rows[here, at], rows[here, count + at], rows[here, 2 * count + at] = 1, confidence, right
    return rows


def _ece(sums: Floats) -> Floats:
    k = sums.shape[1] // 3
    n = sums[:, :k].sum(1)
    return np.asarray(np.abs(sums[:, k : 2 * k] - sums[:, 2 * k :]).sum(1) / n)


def soft_binary(labels: Sequence[Any], score: Sequence[float], positive: str = "") -> dict[str, Measured]:
    """Scores of one number per item: areas; calibration where the number is a probability."""
    from sklearn import metrics as sk

    name = positive_class(labels, positive)
    y = np.array([text(x) == name for x in labels], float)
    s = np.asarray(score, float)
    lib = version("scikit-learn")
    if y.min() == y.max():
        return {
            "auc": Measured(
                metric="auc",
                value=None,
                n=y.size,
                kind="auc",
                definition="area under the ROC curve",
                library=lib,
                reason="only one class in the labels",
            )
        }
    out = {
        "auc": Measured(metric="auc", value=float(sk.roc_auc_score(y, s)), n=y.size, kind="auc", definition=f"area under the ROC curve, positive class {name!r}", library=lib,
                        rows=np.stack([y, s], 1)),
        "ap": Measured(metric="ap", value=float(sk.average_precision_score(y, s)), n=y.size, kind="ranks", definition=f"average precision, positive class {name!r}", library=lib),
    }  # fmt: skip
    if s.min() >= 0 and s.max() <= 1:
        out |= soft_multi([text(x) for x in labels], {name: list(s), f"not {name}": list(1 - s)}, binary=name)
    return out


def soft_multi(
    labels: Sequence[Any], probabilities: dict[str, list[float]], *, binary: str = ""
) -> dict[str, Measured]:
    """Log loss, Brier score and calibration error of class probabilities; one-against-rest AUC for more than two classes."""
    from sklearn import metrics as sk

    lib = version("scikit-learn")
    names = list(probabilities)
    p = np.stack([np.asarray(probabilities[c], float) for c in names], 1)
    t = [text(x) if not binary else (binary if text(x) == binary else f"not {binary}") for x in labels]
    missing = sorted(set(t) - set(names))
    total = p.sum(1)
    if missing or p.min() < 0 or np.any(np.abs(total - 1) > 0.02):
        return {}
    p = p / total[:, None]
    y = np.array([names.index(x) for x in t])
    here = np.arange(y.size)
    loss = -np.log(np.clip(p[here, y], np.finfo(float).eps, 1))
    hot = np.zeros_like(p)
    hot[here, y] = 1
    top = p.argmax(1)
    rows = _bins(p[here, top], (top == y).astype(float))
    # the Brier score of two classes is the squared error of one of them, by convention half of the sum over both
    squared = ((p - hot) ** 2).sum(1) / (2 if len(names) == 2 else 1)
    out = {
        "log_loss": mean_of(loss, metric="log_loss", definition="mean negative log-probability of the gold label", library="numpy", higher_is_better=False),
        "brier": mean_of(squared, metric="brier", definition="mean squared error of the probabilities", library="numpy", higher_is_better=False),
        "ece": Measured(metric="ece", value=float(_ece(rows.sum(0)[None])[0]), n=y.size, kind="corpus", higher_is_better=False, library="numpy",
                        definition="expected calibration error of the top class, 15 equal bins (biased upwards in small samples)", rows=rows, statistic=_ece),
    }  # fmt: skip
    if not binary and len(names) == 2 and len(set(t)) == 2:
        positive = next((c for c in names if c.lower() in POSITIVE_NAMES), sorted(names)[-1])
        s = p[:, names.index(positive)]
        hit = np.array([x == positive for x in t], float)
        out["auc"] = Measured(metric="auc", value=float(sk.roc_auc_score(hit, s)), n=y.size, kind="auc", definition=f"area under the ROC curve, positive class {positive!r}",
                              library=lib, rows=np.stack([hit, s], 1))  # fmt: skip
    elif len(names) > 2 and len(set(t)) == len(names):
        order = np.argsort(names)
        value = sk.roc_auc_score(
            [names[i] for i in y], p[:, order], multi_class="ovr", average="macro", labels=sorted(names)
        )
        out["auc"] = Measured(
            metric="auc",
            value=float(value),
            n=y.size,
            kind="ranks",
            definition="macro one-against-rest area under the ROC curve",
            library=lib,
        )
    return out


def fleiss_kappa(ratings: Sequence[Sequence[Any]]) -> float:
    """Agreement of several raters on the same items (rows are items)."""
    names = sorted({text(x) for row in ratings for x in row})
    counts = np.array([[sum(text(x) == c for x in row) for c in names] for row in ratings], float)
    k = counts.sum(1)[0]
    if np.any(counts.sum(1) != k) or k < 2:
        raise ValueError("every item needs the same number of raters, at least two")
    agreement = float(np.mean(((counts**2).sum(1) - k) / (k * (k - 1))))
    chance = float(np.sum((counts.sum(0) / counts.sum()) ** 2))
    return 1.0 if chance == 1 else (agreement - chance) / (1 - chance)
