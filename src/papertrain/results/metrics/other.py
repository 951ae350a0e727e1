"""Numbers against numbers, ranked lists, losses, and scores that the file gives per item."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import ndtri

from papertrain.core.results import Interval
from papertrain.results.metrics.measured import Measured, mean_of
from papertrain.results.names import higher_is_better
from papertrain.results.stats import corpus
from papertrain.results.stats.ranks import average_ranks


def regression(labels: Sequence[float], predictions: Sequence[float]) -> dict[str, Measured]:
    rows = corpus.regression_rows(labels, predictions)
    total = rows.sum(0)[None]
    table = (
        ("mse", corpus.mse, False, "mean squared error"),
        ("rmse", corpus.rmse, False, "root of the mean squared error"),
        ("mae", corpus.mae, False, "mean absolute error"),
        ("r2", corpus.r2, True, "1 − residual / total sum of squares"),
        ("pearson", corpus.pearson, True, "Pearson correlation"),
    )
    out = {}
    for name, f, up, definition in table:
        value = float(f(total)[0])
        out[name] = Measured(metric=name, value=value if math.isfinite(value) else None, n=len(rows), kind="corpus", definition=definition, library="numpy", higher_is_better=up,
                             rows=rows, statistic=f, reason="" if math.isfinite(value) else "one side is constant")  # fmt: skip
    r = corpus.regression_rows(average_ranks(labels), average_ranks(predictions))
    rho = float(corpus.pearson(r.sum(0)[None])[0])
    ok = math.isfinite(rho)
    out["spearman"] = Measured(metric="spearman", value=rho if ok else None, n=len(rows), kind="ranks", definition="Spearman rank correlation", library="numpy",
                               ci=fisher_interval(rho, len(rows)) if ok else None, reason="" if ok else "one side is constant")  # fmt: skip
    return out


def fisher_interval(rho: float, n: int, level: float = 0.95) -> Interval | None:
    """Interval of a rank correlation on Fisher's scale, with the variance of Bonett & Wright (2000)."""
    if n < 5 or abs(rho) >= 1:
        return None
    half = float(ndtri(0.5 + level / 2)) * math.sqrt((1 + rho * rho / 2) / (n - 3))
    z = math.atanh(rho)
    return Interval(low=math.tanh(z - half), high=math.tanh(z + half), level=level, method="fisher z, Bonett-Wright")


def ranking(
    labels: Sequence[Any], ranked: Sequence[Sequence[Any]], cutoffs: Sequence[int] = (1, 5, 10)
) -> dict[str, Measured]:
    """Ranked lists of ids against the relevant ids (a set, or id → gain)."""
    gains = [
        {str(k): float(v) for k, v in x.items()}
        if isinstance(x, dict)
        else {str(v): 1.0 for v in (x if isinstance(x, (list, tuple)) else [x])}
        for x in labels
    ]
    lists = [[str(v) for v in r] for r in ranked]
    names = ["mrr", "map", *(f"hit@{k}" for k in cutoffs), *(f"ndcg@{k}" for k in cutoffs)]
    out: dict[str, list[float]] = {name: [] for name in names}
    for gain, order in zip(gains, lists):
        good = [gain.get(d, 0.0) > 0 for d in order]
        out["mrr"].append(next((1 / (i + 1) for i, g in enumerate(good) if g), 0.0))
        seen = np.cumsum(good)
        relevant = sum(v > 0 for v in gain.values())
        out["map"].append(sum(seen[i] / (i + 1) for i, g in enumerate(good) if g) / relevant if relevant else 0.0)
        ideal = sorted(gain.values(), reverse=True)
        for k in cutoffs:
            out[f"hit@{k}"].append(float(any(good[:k])))
            dcg = sum(gain.get(d, 0.0) / math.log2(i + 2) for i, d in enumerate(order[:k]))
            best = sum(g / math.log2(i + 2) for i, g in enumerate(ideal[:k]))
            out[f"ndcg@{k}"].append(dcg / best if best else 0.0)
    says = {"mrr": "mean reciprocal rank of the first relevant item", "map": "mean average precision of the whole list"}
    return {
        name: mean_of(
            v,
            metric=name,
            definition=says.get(name, f"{name.split('@')[0]} within the first {name.split('@')[-1]}, linear gain"),
            library="numpy",
        )
        for name, v in out.items()
    }


def perplexity(nll: Sequence[float], tokens: Sequence[float]) -> dict[str, Measured]:
    """exp of the loss per token over the whole set; the file gives the summed loss and the tokens of each item."""
    rows = np.stack([np.asarray(nll, float), np.asarray(tokens, float)], 1)
    value = float(corpus.perplexity(rows.sum(0)[None])[0])
    return {"perplexity": Measured(metric="perplexity", value=value if math.isfinite(value) else None, n=len(rows), kind="corpus", library="numpy", higher_is_better=False,
                                   definition="exp of the summed loss over the summed tokens", rows=rows, statistic=corpus.perplexity)}  # fmt: skip


def given(scored: dict[str, list[float]], directions: dict[str, bool]) -> dict[str, Measured]:
    """Means of the scores that the file gives per item."""
    out = {}
    for name, values in scored.items():
        if name in ("nll", "tokens"):
            continue
        metric = "accuracy" if name == "correct" else name
        up = directions.get(name, higher_is_better(re.sub(r",.*", "", name)))
        out[metric] = mean_of(
            values,
            metric=metric,
            definition=f"mean over items of the file's {name!r}",
            library="the file",
            higher_is_better=up is not False,
        )
    return out
