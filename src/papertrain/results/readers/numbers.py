"""A JSON object of plain numbers: `{"accuracy": 0.91}`, DCLM's `eval_metrics.icl`, our own metrics.json, one-line jsonl."""

from __future__ import annotations

from typing import Any

from papertrain.results.names import higher_is_better, is_metric, scale
from papertrain.results.records import Reader, Reading, Score
from papertrain.results.source import Source, no_number, number


def _document(source: Source) -> dict[str, Any]:
    if source.object:
        return source.object
    lines = source.lines or []
    return lines[-1] if lines else {}


def _tasks(doc: dict[str, Any]) -> dict[str, Any]:
    metrics = doc.get("eval_metrics")
    icl = metrics.get("icl") if isinstance(metrics, dict) else None
    return icl if isinstance(icl, dict) else {}


def sniff(source: Source) -> bool:
    doc = _document(source)
    if _tasks(doc) or _ours(doc):
        return True
    return any(
        (number(v) is not None or (bool(no_number(v)) and len(doc) > 1))
        and not isinstance(v, str)
        and higher_is_better(k) is not None
        and is_metric(k)
        for k, v in doc.items()
    )


def _ours(doc: dict[str, Any]) -> list[Any]:
    rows = doc.get("metrics")
    ok = isinstance(rows, list) and rows and all(isinstance(r, dict) and "metric" in r and "value" in r for r in rows)
    return rows if ok and isinstance(rows, list) else []


def read(source: Source) -> Reading:
    doc, scores = _document(source), []
    where, digest = str(source.path), source.sha256
    for i, row in enumerate(_ours(doc)):
        value = number(row.get("value"))
        size = number(row.get("n"))
        scores.append(Score(metric=str(row["metric"]), value=value, dataset=str(row.get("dataset") or ""), n=int(size) if size else None,
                            scale=scale(str(row["metric"]), [value] if value is not None else []), pointer=f"metrics[{i}]", reason=str(row.get("reason") or ""), file=where, sha256=digest))  # fmt: skip
    for task, x in _tasks(doc).items():
        value = number(x)
        scores.append(
            Score(
                metric="accuracy",
                value=value,
                dataset=task,
                system=str(doc.get("model") or ""),
                scale="fraction",
                pointer=f"eval_metrics.icl.{task}",
                file=where,
                sha256=digest,
            )
        )
    if not scores:
        for name, x in doc.items():
            value = number(x)
            if (
                (value is not None or no_number(x))
                and not isinstance(x, str)
                and is_metric(name)
                and (higher_is_better(name) is not None)
            ):
                scores.append(Score(metric=name, value=value, dataset=str(doc.get("dataset") or ""), system=str(doc.get("model") or doc.get("method") or ""),
                                    seed=str(doc.get("seed", "")), scale=scale(name, [value] if value is not None else []), reason=no_number(x), pointer=name, file=where, sha256=digest))  # fmt: skip
    return Reading(scores=scores, format="numbers")


READER = Reader(id="numbers", title="a JSON object of metrics", sniff=sniff, read=read, order=90)
