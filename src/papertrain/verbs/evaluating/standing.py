"""What the results of a workspace rest on that holds no more, or never did: `evaluate` and `compare` say it alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from papertrain.core.texts import say

if TYPE_CHECKING:
    from papertrain.core.workspace import Run, Workspace

SHOWN = 3
QUICK = 16 * 2**20
"""Files up to here are read and compared in about a second; `check` compares larger ones."""


def doubts(work: Workspace, grid: Sequence[Run]) -> tuple[str, ...]:
    """Runs made with what has changed since, and test rows that the methods were trained on."""
    return (*stale_runs(grid), *trained_on(work))


def stale_runs(grid: Sequence[Run]) -> tuple[str, ...]:
    old = [r for r in grid if r.state == "stale"]
    named = [say("{run} is stale: {why}", run=r.id, why=r.because) for r in old[:SHOWN]]
    return (*named, say("{n} more runs are stale", n=len(old) - SHOWN)) if len(old) > SHOWN else tuple(named)


def trained_on(work: Workspace) -> tuple[str, ...]:
    """Test rows that stand in the training data: what is measured on them is memory."""
    from functools import partial

    from papertrain.configs.checks.train_test_overlap import in_two_files, in_words
    from papertrain.core.errors import PapertrainError
    from papertrain.verbs.checking.rows import shared_rows

    try:
        plans = [work.plan(m) for m in work.methods()]
    except PapertrainError:  # a damaged plan is for `check` to name
        plans = []
    quick = partial(shared_rows, limit=QUICK)
    both = in_two_files(work, work.study, plans, quick, parts=("test",))
    return tuple(
        say("{dataset}: {rows}; what is measured on them is memory", dataset=b.dataset, rows=in_words(b.found, b.train.name, b.held_out.name))
        for b in both
    )  # fmt: skip
