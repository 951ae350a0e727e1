"""MLflow: `search_runs` exports (CSV: `run_id`, `metrics.*`, `params.*`, `tags.mlflow.runName`), and its own folder `mlruns`."""

from __future__ import annotations

from pathlib import Path

from papertrain.results.names import is_metric, scale
from papertrain.results.readers._cells import faults, pointer, reason
from papertrain.results.readers.table import unfinished
from papertrain.results.records import Reader, Reading, Score
from papertrain.results.source import Source, number


def _stored(source: Source) -> bool:
    """`mlruns/<experiment>/<run>/metrics/<name>`: lines of time, value and step."""
    if source.suffix and source.path.parent.name != "metrics":
        return False
    lines = [line.split() for line in source.text.splitlines()[:5] if line.strip()]
    return (
        source.path.parent.name == "metrics"
        and bool(lines)
        and all(len(p) in (2, 3) and p[0].isdigit() and len(p[0]) >= 10 for p in lines)
    )


def _store(source: Source) -> Reading:
    """The last value of one metric of one run; its name and parameters lie in the files beside it."""
    run, metric = source.path.parent.parent, source.name
    lines = [(n, p) for n, line in enumerate(source.text.splitlines(), 1) if len(p := line.split()) in (2, 3)]
    if not lines or not is_metric(metric) or metric.startswith("train_"):
        return Reading(format="MLflow run")
    line, parts = lines[-1]
    value = number(parts[1])
    score = Score(metric=metric, value=value, system=_beside(run, "params/method") or _beside(run, "params/model") or _beside(run, "tags/mlflow.runName") or run.name,
                  dataset=_beside(run, "params/dataset"), seed=_beside(run, "params/seed"), scale=scale(metric, [value] if value is not None else []), file=str(source.path),
                  sha256=source.sha256, pointer=f"line {line}", reason="" if value is not None else "no finite value logged")  # fmt: skip
    return Reading(scores=[score], format="MLflow run")


def _beside(run: Path, name: str) -> str:
    try:
        return (run / name).read_text("utf-8", errors="replace")[:200].strip() if (run / name).is_file() else ""
    except OSError:
        return ""


def sniff(source: Source) -> bool:
    if _stored(source):
        return True
    head = source.grid[0] if source.grid else []
    return any(h.startswith("metrics.") for h in head) and any(h in ("run_id", "Run ID") for h in head)


def read(source: Source) -> Reading:
    if _stored(source):
        return _store(source)
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
                                file=str(source.path), sha256=source.sha256, pointer=pointer(source, i, column), reason="" if value is not None else _gap(source, i, row.get(column))))  # fmt: skip
    return Reading(
        scores=scores, issues=[*unfinished(source.table, source), *faults(source, columns)], format="MLflow runs"
    )


def _gap(source: Source, i: int, x: object) -> str:
    """MLflow leaves a cell empty where a run logged no such metric."""
    return reason(source, i, x) if str(x or "").strip() else "no value logged"


READER = Reader(id="mlflow", title="MLflow search_runs export, mlruns/", sniff=sniff, read=read, order=10)
