"""Over data sets: Friedman with a critical difference for several methods, Wilcoxon for two."""

from __future__ import annotations

from typing import Any

import numpy as np

from papertrain.results.board import Board, Head
from papertrain.results.stats import multiple, ranks

PAIRS_UP_TO = 20
MINIMUM = 5
"""Fewer data sets carry no statement over data sets."""


def complete(board: Board, metric: str) -> tuple[list[Head], list[str], np.ndarray[Any, Any]]:
    """Data sets × systems of one metric, only where every system has a value."""
    heads = [h for h in board.heads if h.metric == metric and h.scale != "mixed"]
    systems = [s for s in board.systems if any(board.runs(s, h) for h in heads)]
    keep = [h for h in heads if all(board.runs(s, h) for s in systems)]
    values = [
        [float(np.mean([e.value for e in board.runs(s, h).values() if e.value is not None])) for s in systems]
        for h in keep
    ]
    return keep, systems, np.array(values)


def over_datasets(board: Board, *, alpha: float = 0.05) -> list[dict[str, Any]]:
    """One statement per metric that is known on at least five data sets for at least two systems."""
    out = []
    for metric in dict.fromkeys(h.metric for h in board.heads):
        heads = [h for h in board.heads if h.metric == metric and h.scale != "mixed"]
        if len({h.dataset for h in heads}) < MINIMUM:
            continue
        keep, systems, x = complete(board, metric)
        up = board.directions[heads[0]]
        left = len(heads) - len(keep)
        if len(keep) < MINIMUM or len(systems) < 2 or up is None:
            continue
        note = f"{left} data sets with a missing cell are left out" if left else ""
        if len(systems) == 2:
            w = ranks.wilcoxon(x[:, 0], x[:, 1])
            out.append({"metric": metric, "test": w.test, "unit": "data set", "n": len(keep), "a": systems[0], "b": systems[1], "p": w.p, "difference": w.difference,
                        "effect_size": w.effect_size, "wins": w.details["wins"], "losses": w.details["losses"], "ties": w.details["ties"],
                        "assumptions": [*w.assumptions, "data sets are independent of each other"], "note": note, "signature": w.signature})  # fmt: skip
            continue
        f = ranks.friedman(x, higher_is_better=up)
        cd = ranks.critical_difference(len(systems), len(keep), alpha)
        mean = f.details["mean_ranks"]
        pairs = [(i, j) for i in range(len(systems)) for j in range(i)] if len(systems) <= PAIRS_UP_TO else []
        p = multiple.holm([ranks.wilcoxon(x[:, i], x[:, j]).p or 1.0 for i, j in pairs])
        out.append({
            "metric": metric, "test": "friedman", "unit": "data set", "n": len(keep), "systems": systems, "p": f.p, "p_F": f.details["p_F"], "mean_ranks": mean, "cd": cd, "alpha": alpha,
            "post_hoc": "nemenyi", "cliques": [[systems[i] for i in g] for g in ranks.cliques(mean, cd)],
            "wilcoxon_holm": [{"a": systems[j], "b": systems[i], "p_adjusted": q} for (i, j), q in zip(pairs, p)],
            "assumptions": list(f.assumptions), "note": note, "signature": f.signature,
        })  # fmt: skip
    return out
