"""Which figures the results of a comparison deserve, and why: read from what is there, never from a fixed list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from papertrain.core.texts import say
from papertrain.core.workspace import Workspace
from papertrain.verbs.comparing.build import Comparison
from papertrain.verbs.comparing.costs import prices, quality, sizes
from papertrain.verbs.comparing.table import Asked

DRAWN_ANYWAY = frozenset({"main", "curves", "confusion", "seeds"})
BARS_UP_TO = 8


def deserved(found: Comparison, asked: Asked) -> list[dict[str, Any]]:
    """name, why, and whether it is drawn without being asked for."""
    wanted = DRAWN_ANYWAY | set(asked.figures)
    return [{"name": name, "why": why, "drawn": asked.everything or name in wanted} for name, why in _reasons(found)]


def _reasons(found: Comparison) -> Iterator[tuple[str, str]]:
    board, columns = found.board, len(found.board.heads)
    if not columns:
        return
    yield (
        "main",
        say("bars from zero with intervals")
        if columns <= BARS_UP_TO
        else say("dots with intervals: too many columns for bars"),
    )
    if any(not t.refused and t.ci is not None for t in found.tests):
        yield (
            "differences",
            say("paired differences around zero answer A against B; overlapping single intervals do not"),
        )
    if found.work is not None and any(
        Workspace(found.work).run_path(r.id).is_dir() for r in Workspace(found.work).grid()
    ):
        yield "curves", say("the runs left logs: their curves show whether training was done")
    if any(len(runs) > 1 for runs in board.entries.values()):
        yield "seeds", say("several seeds: every run is shown")
    entries = [e for runs in board.entries.values() for e in runs.values()]
    if any(
        e.metric == "accuracy" and e.items is not None and e.items.label is not None and e.items.prediction is not None
        for e in entries
    ):
        yield "confusion", say("classes: which are taken for which")
    if len(board.systems) >= 3 and 2 <= columns <= 16 and len(board.systems) * columns >= 9:
        yield "heatmap", say("several methods in several columns, as in an ablation: where each one stands")
    if any(o["test"] == "friedman" for o in found.overall):
        yield "cd", say("several methods on many data sets: mean ranks and what can be told apart")
    what, paid = prices(found)
    if quality(found) is not None and len(paid) >= 2:
        yield (
            "cost",
            say("{what} was measured for {n} methods: a better score is seen with its price", what=what, n=len(paid)),
        )
    what, placed = sizes(found)
    if quality(found) is not None and placed:
        yield (
            "scaling",
            say("{n} methods differ in {what}: the trend says more than a ranking", n=len(placed), what=what),
        )
