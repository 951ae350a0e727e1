"""A JSON object of plain numbers: `{"accuracy": 0.91}`, DCLM's `eval_metrics.icl`, our own metrics.json, one-line jsonl."""

from __future__ import annotations

import re
from collections.abc import Iterator
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
    if _tasks(doc) or _ours(doc) or any(_nested(doc)):
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


PLAIN = re.compile(r"(results?|metrics?|scores?|overall|final|summary|eval(uation)?_?results?|best)$", re.I)
"""Names of levels that say nothing of their own."""
SPLIT = re.compile(r"(test|eval|evaluation|valid|validation|val|dev|predict)$", re.I)
DEEPEST, MOST = 6, 2_000


def _nested(doc: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str, str, Any, str]]:
    """(data set, split, metric, value, where) of the scores below the first level: `{"sst2": {"accuracy": 0.9}}`,
    `{"test": {"metrics": {"f1": {"macro": 0.8}}}}`. Names that say nothing are passed over, training scores too."""
    for name, x in doc.items():
        here = (*path, str(name))
        if re.match(r"train", str(name), re.I) or len(here) > DEEPEST:
            continue
        if isinstance(x, dict) and len(x) <= MOST:
            yield from _nested(x, here)
        elif path and not isinstance(x, (str, bool)) and (number(x) is not None or no_number(x)):
            kind = re.fullmatch(r"macro|micro|weighted", here[-1], re.I)
            metric, above = (f"{here[-1].lower()}_{here[-2]}", here[:-2]) if kind and len(here) > 1 else (here[-1], here[:-1])  # fmt: skip
            if is_metric(metric) and higher_is_better(metric) is not None:
                split = next((p for p in above if SPLIT.match(p)), "")
                data = "/".join(p for p in above if not SPLIT.match(p) and not PLAIN.match(p))
                yield data, split.lower(), metric, x, ".".join(here)


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
        taken = {s.metric for s in scores}
        found = [x for x in _nested(doc) if x[0] or x[2] not in taken]
        for data, split, metric, x, where_ in found:
            value = number(x)
            scores.append(Score(metric=metric, value=value, dataset=data or str(doc.get("dataset") or ""), system=str(doc.get("model") or doc.get("method") or ""),
                                seed=str(doc.get("seed", "")), scale=scale(metric, [value] if value is not None else []), settings={"split": split} if split else {},
                                reason=no_number(x), pointer=where_, file=where, sha256=digest))  # fmt: skip
        tests = {(s.dataset, s.metric) for s in scores if s.settings.get("split") in ("test", "predict")}
        scores = [s for s in scores if (s.dataset, s.metric) not in tests or s.settings.get("split") in ("test", "predict")]  # fmt: skip
    return Reading(scores=scores, format="numbers")


READER = Reader(id="numbers", title="a JSON object of metrics", sniff=sniff, read=read, order=90)
