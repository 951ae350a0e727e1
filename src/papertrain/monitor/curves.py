"""The data of learning curves, for figures and pages: cleaned, one curve per name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from papertrain.monitor.curve import Curve
from papertrain.monitor.history import History
from papertrain.monitor.run import watched

SHOWN = (
    "train_loss",
    "learning_rate",
    "grad_norm",
    "token_accuracy",
    "reward_margin",
    "reward",
    "kl",
    "entropy",
    "throughput",
)


def read(path: Path) -> History:
    """The run at a path; of several runs in a folder, the first. Raises PapertrainError where there is no log."""
    run = watched(path)[0]
    run.poll()
    return History(run.name, run.tables)


def series(path: Path) -> dict[str, tuple[list[int], list[float]]]:
    """Name → (steps, values) of every signal of the run at a path: `train_loss`, `eval_loss`, `learning_rate`, …, and each
    metric under its own name. Of several runs in a folder, the first. Raises PapertrainError where there is no log."""
    return curves_of(read(path))


def curves_of(run: History) -> dict[str, tuple[list[int], list[float]]]:
    """The same for a run that has been read."""
    return {name: (c.steps, c.values) for name, c in lines_of(run).items()}


def lines_of(run: History) -> dict[str, Curve]:
    """The curves themselves, which say what their positions count."""
    found: dict[str, Curve] = {}
    for name in SHOWN:
        c = run.one(name)
        if c is not None and len(c):
            found[name] = c
    evaluations = run.evaluations
    for c in evaluations:
        found["eval_loss" if c is evaluations[0] else c.raw] = c
    for c in [*run.every("metric"), *run.every("metric_plain")]:
        if len(c):
            found.setdefault(c.raw, c)
    return found


def several(paths: Mapping[str, Path]) -> dict[str, dict[str, Curve]]:
    """The curves of several named runs; a run without a log is left out."""
    from papertrain.core.errors import PapertrainError

    found = {}
    for name, path in paths.items():
        try:
            found[name] = lines_of(read(path))
        except PapertrainError:
            continue
    return found
