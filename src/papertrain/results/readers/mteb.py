"""MTEB task results: fractions, one entry per split and language subset."""

from __future__ import annotations

from papertrain.results.names import scale
from papertrain.results.records import Reader, Reading, Score
from papertrain.results.source import Source, number


def sniff(source: Source) -> bool:
    doc = source.object
    return (
        "task_name" in doc
        and isinstance(doc.get("scores"), dict)
        and ("mteb_version" in doc or "dataset_revision" in doc)
    )


def read(source: Source) -> Reading:
    doc, scores = source.object, []
    for split, entries in doc["scores"].items():
        for i, entry in enumerate(entries if isinstance(entries, list) else []):
            value = number(entry.get("main_score")) if isinstance(entry, dict) else None
            subset = entry.get("hf_subset", "default") if isinstance(entry, dict) else ""
            name = str(doc["task_name"]) + (f" ({subset})" if len(entries) > 1 else "")
            scores.append(Score(
                metric="main_score", value=value, dataset=name, scale=scale("main_score", [], "fraction"), higher_is_better=True, file=str(source.path),
                sha256=source.sha256, pointer=f"scores.{split}[{i}].main_score", settings={"split": split, "version": str(doc.get("mteb_version", ""))},
                reason="" if value is not None else "no main_score",
            ))  # fmt: skip
    return Reading(scores=scores, format="MTEB task result")


READER = Reader(id="mteb", title="MTEB <task>.json", sniff=sniff, read=read, order=10)
