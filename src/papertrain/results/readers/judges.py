"""Judges: AlpacaEval `annotations.json` (preference 1 = baseline, 2 = model, 1.5 = draw) and MT-Bench judgments
(`model_judgment/*.jsonl`, scores 1-10; -1 is a failed judgment; turns of a question are one cluster)."""

from __future__ import annotations

from typing import Any

from papertrain.results.records import Issue, Items, Reader, Reading
from papertrain.results.source import Source, number


def _rows(source: Source) -> list[dict[str, Any]]:
    rows = source.json if isinstance(source.json, list) else source.lines if source.json is None else [source.json]
    return [r for r in rows or [] if isinstance(r, dict)]


def sniff(source: Source) -> bool:
    rows = _rows(source)
    if not rows:
        return False
    first = rows[0]
    return {"preference", "generator_1", "generator_2"} <= set(first) or {
        "question_id",
        "judge",
        "score",
        "model",
        "turn",
    } <= set(first)


def read(source: Source) -> Reading:
    rows = _rows(source)
    return _alpaca(source, rows) if "preference" in rows[0] else _bench(source, rows)


def _alpaca(source: Source, rows: list[dict[str, Any]]) -> Reading:
    good = [r for r in rows if (p := number(r.get("preference"))) is not None and 1 <= p <= 2]
    issues = []
    if len(good) < len(rows):
        issues.append(
            Issue(
                says=f"{len(rows) - len(good)} of {len(rows)} judgments failed: left out",
                file=str(source.path),
                code="failed-judgments",
            )
        )
    if good:
        issues.append(
            Issue(
                says=f"win rate against {good[0]['generator_1']} by one judge in one order: position bias is not removed",
                file=str(source.path),
                code="judge-order",
            )
        )
    ids = [f"{i}:{str(r.get('instruction', ''))[:80]}" for i, r in enumerate(good)]
    item = Items(ids=ids, dataset=str(good[0].get("dataset") or "AlpacaEval") if good else "", system=str(good[0]["generator_2"]) if good else "",
                 scored={"win_rate": [float(number(r["preference"]) or 1.0) - 1 for r in good]}, file=str(source.path), sha256=source.sha256)  # fmt: skip
    return Reading(items=[item] if good else [], issues=issues, format="AlpacaEval annotations")


def _bench(source: Source, rows: list[dict[str, Any]]) -> Reading:
    by: dict[str, list[dict[str, Any]]] = {}
    failed = 0
    for r in rows:
        value = number(r.get("score"))
        if value is None or value < 0:
            failed += 1
            continue
        by.setdefault(str(r.get("model")), []).append(r)
    issues = (
        [Issue(says=f"{failed} judgments failed (score -1): left out", file=str(source.path), code="failed-judgments")]
        if failed
        else []
    )
    items = [
        Items(ids=[f"{r['question_id']}/{r['turn']}" for r in mine], dataset="MT-Bench", system=model, scored={"judge_score": [float(number(r["score"]) or 0) for r in mine]},
              cluster=[str(r["question_id"]) for r in mine], directions={"judge_score": True}, file=str(source.path), sha256=source.sha256)
        for model, mine in by.items()
    ]  # fmt: skip
    return Reading(items=items, issues=issues, format="MT-Bench judgments")


READER = Reader(id="judges", title="AlpacaEval annotations, MT-Bench judgments", sniff=sniff, read=read, order=10)
