"""Code benchmarks: EvalPlus `*_eval_results.json` and leaderboard, bigcode `evaluation_results.json`, pass@k dicts.

plus-correct needs both the base and the plus tests to pass. The unit is the problem.
"""

from __future__ import annotations

from typing import Any

from papertrain.results.records import Items, Reader, Reading, Scale, Score
from papertrain.results.source import Source, number
from papertrain.results.stats.runs import pass_at_k


def _pass(d: Any) -> dict[str, Any]:
    return {k: v for k, v in d.items() if k.startswith("pass@")} if isinstance(d, dict) else {}


def sniff(source: Source) -> bool:
    doc = source.object
    if not doc:
        return False
    if isinstance(doc.get("eval"), dict) and ("pass_at_k" in doc or "hash" in doc):
        return True
    return bool(_pass(doc)) or any(
        _pass(v) or (isinstance(v, dict) and isinstance(v.get("pass@1"), dict)) for v in doc.values()
    )


def _status(result: Any, which: str) -> bool:
    if isinstance(result, dict):
        return result.get(f"{which}_status") == "pass"
    return isinstance(result, list) and bool(result) and result[0] == "pass"


def read(source: Source) -> Reading:
    doc = source.object
    if isinstance(doc.get("eval"), dict):
        return _evalplus(source, doc["eval"])
    scores = []

    def add(
        system: str, dataset: str, metric: str, x: Any, pointer: str, scale: Scale, settings: dict[str, str]
    ) -> None:
        value = number(x)
        scores.append(Score(metric=metric, value=value, dataset=dataset, system=system, scale=scale, higher_is_better=True, file=str(source.path),
                            sha256=source.sha256, pointer=pointer, settings=settings, reason="" if value is not None else "the file says null"))  # fmt: skip

    for metric, x in _pass(doc).items():
        if not isinstance(x, dict):
            add("", "", metric, x, metric, "fraction", {})
    board = {k: v["pass@1"] for k, v in doc.items() if isinstance(v, dict) and isinstance(v.get("pass@1"), dict)}
    percent = any((number(x) or 0) > 1 for v in board.values() for x in v.values())
    for system, values in board.items():
        for dataset, x in values.items():
            add(
                system,
                dataset,
                "pass@1",
                x,
                f"{system}.pass@1.{dataset}",
                "percent" if percent else "fraction",
                {"prompted": str(doc[system].get("prompted"))},
            )
    for task, entry in doc.items():
        if task != "config" and task not in board and isinstance(entry, dict):
            for metric, x in _pass(entry).items():
                add("", task, metric, x, f"{task}.{metric}", "fraction", {})
    return Reading(scores=scores, format="pass@k")


def _legacy(entry: Any) -> Any:
    """EvalPlus 0.1: `{"base": [["pass", […]], …], "plus": [["fail", […]], …]}`, one pair per sample."""
    if not isinstance(entry, dict) or not isinstance(entry.get("base"), list):
        return entry
    plus = entry.get("plus")
    pairs = (
        zip(entry["base"], plus)
        if isinstance(plus, list) and len(plus) == len(entry["base"])
        else ((b, None) for b in entry["base"])
    )
    return [{"base_status": _first(b)} | ({"plus_status": _first(p)} if p is not None else {}) for b, p in pairs]


def _first(result: Any) -> str:
    return str(result[0]) if isinstance(result, list) and result else str(result)


def _evalplus(source: Source, problems: dict[str, Any]) -> Reading:
    problems = {k: _legacy(v) for k, v in problems.items()}
    ids = [k for k, v in problems.items() if isinstance(v, list) and v]
    base = {i: [_status(r, "base") if isinstance(r, dict) else _status(r, "") for r in problems[i]] for i in ids}
    plus = {i: [b and _status(r, "plus") for b, r in zip(base[i], problems[i])] for i in ids}
    k = 1
    scored = {f"pass@{k}": [pass_at_k(len(base[i]), sum(base[i]), k) for i in ids]}
    if any(isinstance(r, dict) and "plus_status" in r for i in ids for r in problems[i]):
        scored[f"plus pass@{k}"] = [pass_at_k(len(plus[i]), sum(plus[i]), k) for i in ids]
    dataset = ids[0].split("/")[0] if ids else ""
    item = Items(
        ids=ids,
        dataset=dataset,
        scored=scored,
        file=str(source.path),
        sha256=source.sha256,
        directions=dict.fromkeys(scored, True),
    )
    return Reading(items=[item] if ids else [], format="EvalPlus results")


READER = Reader(id="code", title="EvalPlus, bigcode and pass@k results", sniff=sniff, read=read, order=20)
