"""inspect_ai evaluation logs (JSON). Letters C, I, P, N score 1, 0, 0.5, 0; epochs of one sample are averaged first."""

from __future__ import annotations

from typing import Any

from papertrain.results.names import scale
from papertrain.results.records import Items, Reader, Reading, Score
from papertrain.results.source import Source, as_dict, number

LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}


def sniff(source: Source) -> bool:
    doc = source.object
    return isinstance(doc.get("eval"), dict) and "task" in doc["eval"] and "model" in doc["eval"] and "status" in doc


def value_of(x: Any) -> float | None:
    return LETTERS.get(x) if isinstance(x, str) and x in LETTERS else float(x) if isinstance(x, bool) else number(x)


def read(source: Source) -> Reading:
    doc = source.object
    head = doc["eval"]
    task, model = str(head["task"]).split("/")[-1], str(head["model"])
    results = as_dict(doc.get("results"))
    by: dict[str, dict[str, list[float]]] = {}
    for sample in doc.get("samples") or []:
        if isinstance(sample, dict) and isinstance(sample.get("scores"), dict):
            for name, s in sample["scores"].items():
                v = value_of(s.get("value")) if isinstance(s, dict) else None
                if v is not None:
                    by.setdefault(name, {}).setdefault(str(sample.get("id")), []).append(v)
    items, scores = [], []
    for name, values in by.items():
        ids = list(values)
        items.append(Items(ids=ids, dataset=task, system=model, scored={"accuracy": [sum(values[i]) / len(values[i]) for i in ids]}, file=str(source.path),
                           sha256=source.sha256, settings={"scorer": name}))  # fmt: skip
    if not items:
        for entry in results.get("scores") or []:
            for metric, m in (entry.get("metrics") or {}).items() if isinstance(entry, dict) else ():
                v = number(m.get("value")) if isinstance(m, dict) else None
                if v is not None and metric != "stderr":
                    scores.append(Score(metric=metric, value=v, dataset=task, system=model, scale=scale(metric, [v]), file=str(source.path), sha256=source.sha256,
                                        pointer=f"results.scores.{metric}"))  # fmt: skip
    return Reading(scores=scores, items=items[:1], format="inspect_ai log")


READER = Reader(id="inspect", title="inspect_ai log (json)", sniff=sniff, read=read, order=10)
