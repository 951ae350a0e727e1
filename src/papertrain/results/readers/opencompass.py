"""OpenCompass `summary_*.csv`: percent, two decimals, one column per model; group rows are averages of their members.
`results/<model>/<dataset>.json` with `details`: what the evaluator says of each sample."""

from __future__ import annotations

import re
from typing import Any

from papertrain.results.names import higher_is_better, scale
from papertrain.results.records import Items, Reader, Reading, Score
from papertrain.results.source import Source, number

GROUP = {"naive_average", "weighted_average", "sum", "standard_deviation", "harmonic_mean"}


def sniff(source: Source) -> bool:
    if _details(source.object.get("details")):
        return any(number(v) is not None for k, v in source.object.items() if k != "details")
    return bool(source.grid) and [c.strip() for c in source.grid[0][:4]] == ["dataset", "version", "metric", "mode"]


def _details(found: Any) -> list[tuple[str, dict[str, Any]]]:
    """(index, entry) of each sample: a dict of numbers with a `type` among them, or a list."""
    rows = found.items() if isinstance(found, dict) else enumerate(found) if isinstance(found, list) else ()
    kept = [(str(k), v) for k, v in rows if isinstance(v, dict)]
    keys = {"pred", "predictions", "prediction"}, {"answer", "answers", "references", "reference", "gold", "refr"}
    judged = {"correct", "is_correct"}
    return kept if kept and all((keys[0] & set(v) and keys[1] & set(v)) or judged & set(v) for _, v in kept) else []


def _results(source: Source) -> Reading:
    """`results/<model>/<dataset>.json`: the evaluator's score in percent, and what it says of each sample."""
    doc, where = source.object, str(source.path)
    rows = _details(doc["details"])
    place: dict[str, Any] = {
        "system": source.path.parent.name if source.path.parent.parent.name == "results" else "",
        "dataset": re.sub(r"_\d+$", "", source.path.stem),
    }
    flags = [v.get("correct", v.get("is_correct")) for _, v in rows]
    scores = [
        Score(metric=k, value=v, scale=scale(k, [], "percent"), file=where, sha256=source.sha256, pointer=k, n=len(rows), higher_is_better=higher_is_better(k), **place)
        for k, x in doc.items() if k not in ("details", "extract_rate") and (v := number(x)) is not None and higher_is_better(k) is not None
    ]  # fmt: skip
    gold = [
        str(next((v[k] for k in ("answer", "answers", "references", "reference", "gold", "refr") if k in v), ""))
        + str(v.get("prompt", v.get("origin_prompt", "")))
        for _, v in rows
    ]
    metric = scores[0].metric if len(scores) == 1 else "accuracy"
    if all(isinstance(f, bool) or f in (0, 1) for f in flags):
        item = Items(
            ids=[i for i, _ in rows],
            numbered=True,
            gold=gold,
            scored={metric: [float(bool(f)) for f in flags]},
            directions={metric: True},
            file=where,
            sha256=source.sha256,
            **place,
        )
        return Reading(
            items=[item],
            scores=[s for s in scores if s.metric != metric],
            format="OpenCompass results with details",
        )
    return Reading(scores=scores, format="OpenCompass results with details")


def read(source: Source) -> Reading:
    if _details(source.object.get("details")):
        return _results(source)
    header, scores = [c.strip() for c in source.grid[0]], []
    for line, row in zip(source.grid_lines[1:], source.grid[1:]):
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


READER = Reader(id="opencompass", title="OpenCompass summary_*.csv, results/*.json", sniff=sniff, read=read, order=10)
