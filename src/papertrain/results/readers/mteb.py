"""MTEB task results: fractions, one entry per split and language subset; `scores` with lists since 1.8, a key per split before.

Before 1.8 only classification wrote a main score: of the other tasks it is the score that the benchmark ranks by, which
follows from what the file holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from papertrain.results.names import scale
from papertrain.results.records import Reader, Reading, Score
from papertrain.results.source import Source, number

RANKED_BY = (("main_score",), ("cos_sim", "ap"), ("cos_sim", "spearman"), ("ndcg_at_10",), ("v_measure",), ("map",), ("f1",), ("accuracy",))  # fmt: skip
"""First of these that an entry has: pair classification, STS and summaries, retrieval, clustering, reranking, bitexts."""
SPLITS = ("test", "validation", "dev", "train")


def sniff(source: Source) -> bool:
    doc = source.object
    if "mteb_dataset_name" in doc and "mteb_version" in doc:
        return bool(_splits(doc))
    return (
        "task_name" in doc
        and isinstance(doc.get("scores"), dict)
        and ("mteb_version" in doc or "dataset_revision" in doc)
    )


def _splits(doc: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {k: v for k, v in doc.items() if isinstance(v, dict) and k.startswith(SPLITS)}


def _entries(doc: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any], str]]:
    """(split, subset, entry, where it stands)."""
    if "scores" in doc:
        for split, entries in doc["scores"].items():
            for i, entry in enumerate(entries if isinstance(entries, list) else []):
                if isinstance(entry, dict):
                    yield split, str(entry.get("hf_subset", "default")), entry, f"scores.{split}[{i}]"
        return
    for split, entry in _splits(doc).items():
        inner = {k: v for k, v in entry.items() if isinstance(v, dict)}
        if _main(entry)[0] is not None or not inner:
            yield split, "default", entry, split
        else:
            for subset, one in inner.items():
                yield split, subset, one, f"{split}.{subset}"


def _main(entry: dict[str, Any]) -> tuple[float | None, str]:
    for path in RANKED_BY:
        x: Any = entry
        for part in path:
            x = x.get(part) if isinstance(x, dict) else None
        if (value := number(x)) is not None:
            return value, ".".join(path)
    return None, "main_score"


def read(source: Source) -> Reading:
    doc, scores = source.object, []
    found = list(_entries(doc))
    held = [x for x in found if x[0].startswith("test")] or found
    for split, subset, entry, where in held:
        value, which = (number(entry.get("main_score")), "main_score") if "scores" in doc else _main(entry)
        name = str(doc.get("task_name") or doc.get("mteb_dataset_name")) + (f" ({subset})" if subset != "default" else "")  # fmt: skip
        scores.append(Score(
            metric="main_score", value=value, dataset=name, scale=scale("main_score", [], "fraction"), higher_is_better=True, file=str(source.path),
            sha256=source.sha256, pointer=f"{where}.{which}", settings={"split": split, "version": str(doc.get("mteb_version", ""))},
            reason="" if value is not None else "no main_score",
        ))  # fmt: skip
    return Reading(scores=scores, format="MTEB task result")


READER = Reader(id="mteb", title="MTEB <task>.json", sniff=sniff, read=read, order=10)
