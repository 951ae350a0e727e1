"""Code benchmarks: EvalPlus `*_eval_results.json` and leaderboard, bigcode `evaluation_results.json`, pass@k dicts.

plus-correct needs both the base and the plus tests to pass. The unit is the problem.
"""

from __future__ import annotations

import re
from typing import Any

from papertrain.results.records import Issue, Items, Reader, Reading, Scale, Score
from papertrain.results.source import Source, number
from papertrain.results.stats.runs import pass_at_k

PASS = re.compile(r"(?:(?P<part>.+)_)?(?P<metric>(?:pass|beyond)@\d+)")
"""`pass@1`, and `Easy_pass@1` of tasks that tell their parts; Mercury's beyond@k weighs a pass by its running time."""
OTHER = re.compile(r"(accuracy|avg_accuracy|strict_accuracy|bleu|rouge\w*|exact_match|em|codebleu)", re.I)
WHOLE = ("average", "overall", "all")


def _pass(d: Any) -> dict[str, Any]:
    return {k: v for k, v in d.items() if PASS.fullmatch(k)} if isinstance(d, dict) else {}


def _bigcode(doc: dict[str, Any]) -> bool:
    """bigcode's own file says with what it was made."""
    config = doc.get("config")
    return isinstance(config, dict) and "model" in config and bool({"n_samples", "tasks", "temperature"} & set(config))


def sniff(source: Source) -> bool:
    doc = source.object
    if not doc:
        return False
    if isinstance(doc.get("eval"), dict) and ("pass_at_k" in doc or "hash" in doc):
        return True
    if _bigcode(doc) and any(isinstance(v, dict) and any(map(OTHER.fullmatch, v)) for k, v in doc.items() if k != "config"):  # fmt: skip
        return True
    return any(k.startswith("pass@") for k in doc) or any(
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
                            group=pointer.rpartition(".")[2].lower().startswith(WHOLE), sha256=source.sha256, pointer=pointer, settings=settings, reason="" if value is not None else "the file says null"))  # fmt: skip

    for metric, x in doc.items():
        if not isinstance(x, dict) and metric.startswith("pass@"):
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
    settings, issues = _made_with(source) if _bigcode(doc) else ({}, [])
    for task, entry in doc.items():
        if task != "config" and task not in board and isinstance(entry, dict):
            for metric, x in entry.items():
                if PASS.fullmatch(metric):
                    add("", *_part(task, metric), x, f"{task}.{metric}", "fraction", settings)
                elif _bigcode(doc) and OTHER.fullmatch(metric):
                    add("", task, metric, x, f"{task}.{metric}", "fraction" if abs(number(x) or 0) <= 1 else "percent", settings)  # fmt: skip
    return Reading(scores=scores, issues=issues, format="pass@k")


def _part(task: str, metric: str) -> tuple[str, str]:
    """(data set, metric): a part of a task is a data set of its own, its mean is the task."""
    m = PASS.fullmatch(metric)
    part = (m["part"] or "") if m else ""
    name = task if not part or part.lower() in WHOLE else f"{task}-{part}" if task else part
    return name, m["metric"] if m else metric


def _made_with(source: Source) -> tuple[dict[str, str], list[Issue]]:
    """(settings that must agree between rows, what to warn of) from the configuration of bigcode. Its model is a path
    more often than a name: who it was is said by the place of the file."""
    config = source.object["config"]
    settings = {k: str(config[k]) for k in ("n_samples", "temperature", "top_p", "prompt") if config.get(k) is not None}
    issues = []
    if config.get("limit") is not None:
        settings["limit"] = str(config["limit"])
        issues.append(Issue(says=f"a partial run: it was made with limit {config['limit']}", file=str(source.path), code="limit"))  # fmt: skip
    return settings, issues


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
