"""lighteval `results_<time>.json`. The `_stderr` of `all` is a mean of errors, and bootstrapped ones are divided by
sqrt(1000) too often: neither is taken."""

from __future__ import annotations

import re

from papertrain.results.names import is_metric, scale
from papertrain.results.records import Issue, Reader, Reading, Score
from papertrain.results.source import Source, as_dict, number


def sniff(source: Source) -> bool:
    doc = source.object
    return isinstance(doc.get("results"), dict) and isinstance(doc.get("config_general"), dict)


def read(source: Source) -> Reading:
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
        parts = [p for p in re.split(r"[|]", task) if p]
        numbers = [p for p in parts if p.isdigit()]
        name = next(
            (
                p
                for p in parts
                if not p.isdigit()
                and p not in ("lighteval", "leaderboard", "community", "helm", "original", "bigbench", "custom")
            ),
            task,
        )
        config = next((v for k, v in tasks.items() if k and k in task and isinstance(v, dict)), {})
        for metric, x in entry.items():
            value = number(x)
            if value is None or not is_metric(metric):
                continue
            direction = next((m.get("higher_is_better") for m in config.get("metric", []) or config.get("metrics", []) if isinstance(m, dict) and m.get("metric_name") == metric), None)  # fmt: skip
            se = number(entry.get(f"{metric}_stderr"))
            n = number(config.get("effective_num_docs"))
            scores.append(Score(
                metric=metric, value=value, dataset=name, system=str(general.get("model_name") or ""), stderr=se if "_average" not in name else None,
                n=int(n) if n and n > 0 else None, scale=scale(metric, [value]), higher_is_better=direction if isinstance(direction, bool) else None,
                file=str(source.path), sha256=source.sha256, pointer=f"results.{task}.{metric}",
                settings={"shots": numbers[0]} if numbers else {}, group="_average" in name,
            ))  # fmt: skip
    return Reading(scores=scores, issues=issues, format="lighteval results")


READER = Reader(id="lighteval", title="lighteval results_*.json", sniff=sniff, read=read, order=15)
