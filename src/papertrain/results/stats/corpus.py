"""Scores of a whole test set as functions of column sums, so that they can be resampled in one matrix product.

`X_rows` gives items × columns, `X` turns sums (resamples × columns) into scores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from papertrain.results.stats.outcome import Floats


def label_rows(labels: Sequence[object], predictions: Sequence[object], classes: Sequence[object]) -> Floats:
    """Per item: true positive, predicted, true, one column each per class."""
    index = {c: i for i, c in enumerate(classes)}
    t = np.fromiter((index[v] for v in labels), np.intp, len(labels))
    p = np.fromiter((index[v] for v in predictions), np.intp, len(predictions))
    k, n = len(classes), len(labels)
    rows = np.zeros((n, 3 * k))
    here = np.arange(n)
    hit = t == p
    rows[here[hit], t[hit]] = 1
    rows[here, k + p] = 1
    rows[here, 2 * k + t] = 1
    return rows


def _parts(sums: Floats) -> tuple[Floats, Floats, Floats]:
    k = sums.shape[1] // 3
    return sums[:, :k], sums[:, k : 2 * k], sums[:, 2 * k :]


def _ratio(top: Floats, under: Floats, empty: float) -> Floats:
    out: Floats = np.divide(top, under, out=np.full(np.broadcast(top, under).shape, empty), where=under != 0)
    return out


def accuracy(sums: Floats) -> Floats:
    hit, _, true = _parts(sums)
    return np.asarray(_ratio(hit.sum(1), true.sum(1), np.nan))


def macro(kind: str, without: Sequence[int] = ()) -> Callable[[Floats], Floats]:
    """precision, recall or f1 averaged over the classes that occur in the labels or predictions; 0/0 counts as 0.

    without: columns that are no classes (no answer was given).
    """

    def score(sums: Floats) -> Floats:
        hit, said, true = _parts(sums)
        under = {"precision": said, "recall": true, "f1": (said + true) / 2}[kind]
        present = (said + true) > 0
        present[:, list(without)] = False
        return np.asarray(_ratio((_ratio(hit, under, 0.0) * present).sum(1), present.sum(1).astype(float), np.nan))

    return score


def weighted_f1(sums: Floats) -> Floats:
    hit, said, true = _parts(sums)
    return np.asarray(_ratio((_ratio(2 * hit, said + true, 0.0) * true).sum(1), true.sum(1), np.nan))


def one_class(kind: str, which: int) -> Callable[[Floats], Floats]:
    def score(sums: Floats) -> Floats:
        hit, said, true = (x[:, which] for x in _parts(sums))
        under = {"precision": said, "recall": true, "f1": (said + true) / 2}[kind]
        return np.asarray(_ratio(hit, under, 0.0))

    return score


def mcc(sums: Floats) -> Floats:
    """Multi-class Matthews correlation (Gorodkin 2004); 0 where one side is constant, as scikit-learn has it."""
    hit, said, true = _parts(sums)
    n, c = true.sum(1), hit.sum(1)
    top = c * n - (said * true).sum(1)
    under = np.sqrt(np.maximum(n**2 - (said**2).sum(1), 0) * np.maximum(n**2 - (true**2).sum(1), 0))
    return np.asarray(_ratio(top, under, 0.0))


def kappa(sums: Floats) -> Floats:
    hit, said, true = _parts(sums)
    n = true.sum(1)
    chance = _ratio((said * true).sum(1), n**2, np.nan)
    return np.asarray(_ratio(_ratio(hit.sum(1), n, np.nan) - chance, 1 - chance, np.nan))


def balanced_accuracy(sums: Floats) -> Floats:
    hit, _, true = _parts(sums)
    present = true > 0
    return np.asarray(_ratio(_ratio(hit, true, 0.0).sum(1), present.sum(1).astype(float), np.nan))


def ratio(sums: Floats) -> Floats:
    """Errors over length: WER, CER, TER; also the mean of anything against its count."""
    return np.asarray(_ratio(sums[:, 0], sums[:, 1], np.nan))


def perplexity(sums: Floats) -> Floats:
    return np.asarray(np.exp(ratio(sums)))


def root_mean(sums: Floats) -> Floats:
    return np.asarray(np.sqrt(ratio(sums)))


def regression_rows(y: ArrayLike, f: ArrayLike) -> Floats:
    t, p = np.asarray(y, float), np.asarray(f, float)
    return np.stack([np.ones_like(t), t, p, t * t, p * p, t * p, (t - p) ** 2, np.abs(t - p)], 1)


def mse(s: Floats) -> Floats:
    return np.asarray(s[:, 6] / s[:, 0])


def rmse(s: Floats) -> Floats:
    return np.asarray(np.sqrt(s[:, 6] / s[:, 0]))


def mae(s: Floats) -> Floats:
    return np.asarray(s[:, 7] / s[:, 0])


def r2(s: Floats) -> Floats:
    return np.asarray(1 - _ratio(s[:, 6], s[:, 3] - s[:, 1] ** 2 / s[:, 0], np.nan))


def pearson(s: Floats) -> Floats:
    n = s[:, 0]
    cov = s[:, 5] - s[:, 1] * s[:, 2] / n
    under = np.sqrt(np.maximum((s[:, 3] - s[:, 1] ** 2 / n) * (s[:, 4] - s[:, 2] ** 2 / n), 0))
    return np.asarray(_ratio(cov, under, np.nan))


def bleu(sums: Floats, order: int = 4) -> Floats:
    """Corpus BLEU (0-100) from sacrebleu's statistics [length, reference length, matches…, totals…], exp smoothing."""
    size, ref = sums[:, 0], sums[:, 1]
    match, total = sums[:, 2 : 2 + order], sums[:, 2 + order : 2 + 2 * order]
    smooth = np.ones(sums.shape[0])
    log_sum = np.zeros(sums.shape[0])
    dead = (match == 0).all(1)
    for i in range(order):
        none = (match[:, i] == 0) & (total[:, i] > 0)
        smooth = np.where(none, smooth * 2, smooth)
        share = np.where(
            none, 100.0 / (smooth * np.maximum(total[:, i], 1)), 100.0 * _ratio(match[:, i], total[:, i], 0.0)
        )
        dead |= total[:, i] == 0
        log_sum += np.log(np.where(share > 0, share, 1.0))
    brevity = np.where(size < ref, np.exp(1 - _ratio(ref, np.maximum(size, 1e-300), 0.0)), 1.0)
    return np.asarray(np.where(dead, 0.0, brevity * np.exp(log_sum / order)))


def chrf(sums: Floats, beta: float = 2.0) -> Floats:
    """Corpus chrF (0-100) from sacrebleu's statistics [hypothesis, reference, match] per n-gram order."""
    hyp, ref, match = sums[:, 0::3], sums[:, 1::3], sums[:, 2::3]
    live = (hyp > 0) & (ref > 0)
    precision = _ratio(match, hyp, 0.0) * live
    recall = _ratio(match, ref, 0.0) * live
    orders = live.sum(1).astype(float)
    p, r = _ratio(precision.sum(1), orders, 0.0), _ratio(recall.sum(1), orders, 0.0)
    return np.asarray(100 * _ratio((1 + beta**2) * p * r, beta**2 * p + r, 0.0))


def percent_ratio(sums: Floats) -> Floats:
    return 100 * ratio(sums)
