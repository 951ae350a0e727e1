"""lighteval `results_<time>.json`. The `_stderr` of `all` is a mean of errors, and bootstrapped ones are divided by
sqrt(1000) too often: neither is taken."""

from __future__ import annotations

import re

from papertrain.results.names import is_metric, scale
from papertrain.results.records import Issue, Items, Reader, Reading, Score
from papertrain.results.source import Source, as_dict, no_number, number

SUITES = ("lighteval", "leaderboard", "community", "helm", "original", "bigbench", "custom", "extended", "multilingual")


def sniff(source: Source) -> bool:
    if source.suffix == ".parquet":
        return _metrics_column(source) is not None
    doc = source.object
    return isinstance(doc.get("results"), dict) and isinstance(doc.get("config_general"), dict)


def _metrics_column(source: Source) -> str | None:
    """`__metric__` since 0.10, `metrics` before; each holds metric → score of one sample."""
    first = source.table[0] if source.table else {}
    new = next(
        (
            n
            for n in ("__metric__", "metric")
            if isinstance(first.get(n), dict) and ("__doc__" in first or "doc" in first)
        ),
        None,
    )
    old = "metrics" if isinstance(first.get("metrics"), dict) and {"full_prompt", "predictions"} <= set(first) else None
    return new or old


def _details(source: Source, column: str) -> Reading:
    """One row per sample of `details_<task>_<time>.parquet`."""
    table = source.table
    docs = [as_dict(row.get("__doc__") or row.get("doc")) for row in table]
    questions = [
        str(d.get("query") or row.get("full_prompt") or row.get("example") or "") for d, row in zip(docs, table)
    ]
    answers = [
        str(d.get("gold_index", row.get("gold_index"))) + str(d.get("choices", row.get("gold")))
        for d, row in zip(docs, table)
    ]
    given = [str(d.get("id") or "") for d in docs]
    ids = given if all(given) and len(set(given)) == len(given) else [str(i) for i in range(len(table))]
    values = [as_dict(row.get(column)) for row in table]
    names = [
        m
        for m in dict.fromkeys(k for v in values for k in v)
        if all(number(v.get(m)) is not None or isinstance(v.get(m), bool) for v in values)
    ]
    m = re.match(r"details_(.+?)_\d{4}-\d\d-\d\d", source.name)
    scored = {name: [float(v[name]) for v in values] for name in names}
    item = Items(ids=ids, numbered=ids is not given, dataset=_task(m[1] if m else source.path.stem)[0], scored=scored, gold=[f"{q}\n{a}" for q, a in zip(questions, answers)],
                 file=str(source.path), sha256=source.sha256)  # fmt: skip
    return Reading(items=[item] if scored else [], format="lighteval details")


def _task(task: str) -> tuple[str, str]:
    """(name, shots) of `lighteval|gsm8k|5|0`, `gsm8k|0`, `mmlu:_average|5`."""
    parts = [p for p in task.split("|") if p]
    numbers = [p for p in parts if p.isdigit()]
    return next((p for p in parts if not p.isdigit() and p not in SUITES), task), numbers[0] if numbers else ""


def _model(general: dict[str, object]) -> str:
    """Its place has moved between versions."""
    inner = as_dict(general.get("model_config"))
    named = general.get("model_name") or inner.get("model_name") or inner.get("pretrained")
    return named if isinstance(named, str) else ""


def read(source: Source) -> Reading:
    column = _metrics_column(source) if source.suffix == ".parquet" else None
    if column is not None:
        return _details(source, column)
    doc, scores = source.object, []
    general = doc["config_general"]
    tasks = as_dict(doc.get("config_tasks"))
    issues = []
    if general.get("max_samples") not in (None, 0):
        issues.append(
            Issue(
                says=f"run with max_samples {general['max_samples']}: scores of a part of each task",
                file=str(source.path),
                code="limit",
            )
        )
    for task, entry in doc["results"].items():
        if task == "all" or not isinstance(entry, dict):
            continue
        name, shots = _task(task)
        config = next((v for k, v in tasks.items() if k and k in task and isinstance(v, dict)), {})
        for metric, x in entry.items():
            value = number(x)
            if (value is None and not (no_number(x) and x is not None)) or not is_metric(metric):
                continue
            direction = next((m.get("higher_is_better") for m in config.get("metric", []) or config.get("metrics", []) if isinstance(m, dict) and m.get("metric_name") == metric), None)  # fmt: skip
            se = number(entry.get(f"{metric}_stderr"))
            n = number(config.get("effective_num_docs"))
            scores.append(Score(
                metric=metric, value=value, dataset=name, system=_model(general), stderr=se if "_average" not in name else None,
                n=int(n) if n and n > 0 else None, scale=scale(metric, [value] if value is not None else []), reason=no_number(x), higher_is_better=direction if isinstance(direction, bool) else None,
                file=str(source.path), sha256=source.sha256, pointer=f"results.{task}.{metric}",
                settings={"shots": shots} if shots else {}, group="_average" in name,
            ))  # fmt: skip
    return Reading(scores=scores, issues=issues, format="lighteval results")


READER = Reader(id="lighteval", title="lighteval results_*.json, details_*.parquet", sniff=sniff, read=read, order=15)
