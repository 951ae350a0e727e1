"""W&B exports: chart CSV (`Step`, `run - metric`, `…__MIN`, `…__MAX`): the last point of each run."""

from __future__ import annotations

from papertrain.results.names import higher_is_better, scale
from papertrain.results.readers._cells import place
from papertrain.results.records import Reader, Reading, Score
from papertrain.results.source import Source, number


def sniff(source: Source) -> bool:
    head = source.grid[0] if source.grid else []
    if not head or source.suffix not in (".csv", ".tsv", ""):
        return False
    charted = any(h.endswith(("__MIN", "__MAX")) for h in head) or head[0].strip() in AXES
    return "_step" in head or (charted and any(" - " in h for h in head[1:]))


def read(source: Source) -> Reading:
    head = source.grid[0]
    scores: list[Score] = []
    if "_step" in head:
        return _history(source)
    for i, name in enumerate(head):
        run, mark, metric = name.rpartition(" - ")
        if not mark or metric.endswith(("__MIN", "__MAX")):
            continue
        scores += _last(source, i, metric.split("/")[-1], run, metric.rpartition("/")[0])
    return Reading(scores=scores, format="W&B chart export")


def _history(source: Source) -> Reading:
    """What `run.history()` gives of one run: a column per metric, its name where the file lies."""
    scores: list[Score] = []
    for i, name in enumerate(source.grid[0]):
        metric = name.split("/")[-1]
        if name.startswith("_") or name.lower().startswith("train") or higher_is_better(metric) is None:
            continue
        scores += _last(source, i, metric, "", name.rpartition("/")[0])
    return Reading(scores=scores, format="W&B history")


def _last(source: Source, i: int, metric: str, run: str, split: str) -> list[Score]:
    """The last point of a curve. One that ends in NaN has no value: the point before it is not the result."""
    said = [(at, row[i].strip()) for at, row in enumerate(source.grid[1:]) if i < len(row) and row[i].strip()]
    if not said:
        return []
    at, text = said[-1]
    value, name = number(text), source.grid[0][i]
    unit = scale(metric, [v for _, x in said if (v := number(x)) is not None])
    return [Score(metric=metric, value=value, system=run, scale=unit, file=str(source.path), sha256=source.sha256, settings={"split": split},
                  pointer=f"line {source.row_lines[at]}, {name}", reason="" if value is not None else f"the curve ends without a number: {place(source, at)} says {text[:40]!r}")]  # fmt: skip


AXES = ("Step", "Relative Time (Process)", "Relative Time (Wall)", "Wall Time", "global_step")
READER = Reader(id="wandb", title="W&B chart export", sniff=sniff, read=read, order=10)
