"""W&B exports: chart CSV (`Step`, `run - metric`, `…__MIN`, `…__MAX`): the last point of each run."""

from __future__ import annotations

from papertrain.results.names import scale
from papertrain.results.records import Reader, Reading, Score
from papertrain.results.source import Source, number


def sniff(source: Source) -> bool:
    head = source.grid[0] if source.grid else []
    return (
        bool(head)
        and head[0].strip() in ("Step", "Relative Time (Process)", "Wall Time", "global_step")
        and any(" - " in h for h in head[1:])
    )


def read(source: Source) -> Reading:
    head, scores = source.grid[0], []
    for i, name in enumerate(head):
        run, mark, metric = name.rpartition(" - ")
        if not mark or metric.endswith(("__MIN", "__MAX")):
            continue
        points = [
            (line, v)
            for line, row in enumerate(source.grid[1:], 2)
            if i < len(row) and (v := number(row[i])) is not None
        ]
        if points:
            line, value = points[-1]
            scores.append(Score(metric=metric.split("/")[-1], value=value, system=run, scale=scale(metric.split("/")[-1], [v for _, v in points]), file=str(source.path),
                                sha256=source.sha256, pointer=f"line {line}, {name}", settings={"split": metric.rpartition("/")[0]}))  # fmt: skip
    return Reading(scores=scores, format="W&B chart export")


READER = Reader(id="wandb", title="W&B chart export", sniff=sniff, read=read, order=10)
