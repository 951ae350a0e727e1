"""MLflow `search_runs` exports (CSV): `run_id`, `metrics.*`, `params.*`, `tags.mlflow.runName`."""

from __future__ import annotations

from papertrain.results.names import is_metric, scale
from papertrain.results.records import Reader, Reading, Score
from papertrain.results.source import Source, number


def sniff(source: Source) -> bool:
    head = source.grid[0] if source.grid else []
    return any(h.startswith("metrics.") for h in head) and any(h in ("run_id", "Run ID") for h in head)


def read(source: Source) -> Reading:
    head, scores = source.grid[0], []
    columns = [
        h
        for h in head
        if h.startswith("metrics.") and is_metric(h.removeprefix("metrics.")) and not h.startswith("metrics.train_")
    ]
    for column in columns:
        metric = column.removeprefix("metrics.")
        values = [number(row.get(column)) for row in source.table]
        unit = scale(metric, [v for v in values if v is not None])
        for i, (row, value) in enumerate(zip(source.table, values)):
            system = (
                row.get("params.method") or row.get("params.model") or row.get("tags.mlflow.runName") or row["run_id"]
            )
            scores.append(Score(metric=metric, value=value, system=str(system), dataset=str(row.get("params.dataset") or ""), seed=str(row.get("params.seed") or ""), scale=unit,
                                file=str(source.path), sha256=source.sha256, pointer=f"row {i + 1}, {column}", reason="" if value is not None else "no value logged"))  # fmt: skip
    return Reading(scores=scores, format="MLflow runs")


READER = Reader(id="mlflow", title="MLflow search_runs export", sniff=sniff, read=read, order=10)
