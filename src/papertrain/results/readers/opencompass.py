"""OpenCompass `summary_*.csv`: percent, two decimals, one column per model; group rows are averages of their members."""

from __future__ import annotations

from papertrain.results.names import scale
from papertrain.results.records import Reader, Reading, Score
from papertrain.results.source import Source, number

GROUP = {"naive_average", "weighted_average", "sum", "standard_deviation", "harmonic_mean"}


def sniff(source: Source) -> bool:
    return bool(source.grid) and [c.strip() for c in source.grid[0][:4]] == ["dataset", "version", "metric", "mode"]


def read(source: Source) -> Reading:
    header, scores = [c.strip() for c in source.grid[0]], []
    for line, row in enumerate(source.grid[1:], 2):
        if len(row) < 4 or row[0].startswith("----"):
            continue
        dataset, version, metric, mode = (c.strip() for c in row[:4])
        for i, system in enumerate(header[4:], 4):
            if system == "total_count":
                continue
            cell = row[i].strip() if i < len(row) else ""
            value = number(cell.split(" (")[0])
            group = metric in GROUP or (version == "-" and metric in ("", "-"))
            if value is None and metric in ("-", ""):
                continue
            scores.append(Score(
                metric=metric if metric not in ("-", "") else "score", value=value, dataset=dataset, system=system, scale=scale(metric, [], "percent"),
                higher_is_better=True, file=str(source.path), sha256=source.sha256, pointer=f"line {line}, {system}",
                settings={"version": version, "mode": mode}, group=group, reason="" if value is not None else f"the file says {cell or 'nothing'!r}",
            ))  # fmt: skip
    return Reading(scores=scores, format="OpenCompass summary")


READER = Reader(id="opencompass", title="OpenCompass summary_*.csv", sniff=sniff, read=read, order=10)
