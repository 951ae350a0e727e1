"""W&B exports: chart CSV (`Step`, `run - metric`, `…__MIN`, `…__MAX`): the last point of each run."""

from __future__ import annotations

from papertrain.results.names import higher_is_better, scale
from papertrain.results.records import Reader, Reading, Score
from papertrain.results.source import Source, number


def sniff(source: Source) -> bool:
    head = source.grid[0] if source.grid else []
    if not head or source.suffix not in (".csv", ".tsv", ""):
        return False
    charted = any(h.endswith(("__MIN", "__MAX")) for h in head) or head[0].strip() in AXES
    return "_step" in head or (charted and any(" - " in h for h in head[1:]))


def read(source: Source) -> Reading:
    head, scores = source.grid[0], []
    if "_step" in head:
        return _history(source)
    for i, name in enumerate(head):
        run, mark, metric = name.rpartition(" - ")
        if not mark or metric.endswith(("__MIN", "__MAX")):
            continue
        points = [
            (line, v)
            for line, row in zip(source.grid_lines[1:], source.grid[1:])
            if i < len(row) and (v := number(row[i])) is not None
        ]
        if points:
            line, value = points[-1]
            scores.append(Score(metric=metric.split("/")[-1], value=value, system=run, scale=scale(metric.split("/")[-1], [v for _, v in points]), file=str(source.path),
                                sha256=source.sha256, pointer=f"line {line}, {name}", settings={"split": metric.rpartition("/")[0]}))  # fmt: skip
    return Reading(scores=scores, format="W&B chart export")


def _history(source: Source) -> Reading:
    """What `run.history()` gives of one run: a column per metric, its name where the file lies."""
    scores = []
    for i, name in enumerate(source.grid[0]):
        metric = name.split("/")[-1]
        if name.startswith("_") or name.lower().startswith("train") or higher_is_better(metric) is None:
            continue
        points = [(line, v) for line, row in zip(source.grid_lines[1:], source.grid[1:]) if i < len(row) and (v := number(row[i])) is not None]  # fmt: skip
        if points:
            line, value = points[-1]
            scores.append(Score(metric=metric, value=value, scale=scale(metric, [v for _, v in points]), file=str(source.path), sha256=source.sha256,
                                pointer=f"line {line}, {name}", settings={"split": name.rpartition("/")[0]}))  # fmt: skip
    return Reading(scores=scores, format="W&B history")


AXES = ("Step", "Relative Time (Process)", "Relative Time (Wall)", "Wall Time", "global_step")
READER = Reader(id="wandb", title="W&B chart export", sniff=sniff, read=read, order=10)
