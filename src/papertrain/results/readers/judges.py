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
    if {"question_id", "model_1", "model_2", "g1_winner", "g2_winner"} <= set(first):
        return True
    return {"preference", "generator_1", "generator_2"} <= set(first) or {
        "question_id",
        "judge",
        "score",
        "model",
        "turn",
    } <= set(first)


def read(source: Source) -> Reading:
    rows = _rows(source)
    if "g1_winner" in rows[0]:
        return _pairs(source, rows)
    return _alpaca(source, rows) if "preference" in rows[0] else _bench(source, rows)


def _pairs(source: Source, rows: list[dict[str, Any]]) -> Reading:
    """MT-Bench pairwise: each pair was judged in both orders, so that position bias cancels; a tie is half a win."""
    worth = {"tie": 0.5}
    by: dict[tuple[str, str], list[tuple[str, str, float]]] = {}
    failed = 0
    for r in rows:
        one, two = str(r.get("model_1")), str(r.get("model_2"))
        games = [
            worth.get(str(r.get(g)), 1.0 if r.get(g) == "model_1" else 0.0 if r.get(g) == "model_2" else None)
            for g in ("g1_winner", "g2_winner")
        ]
        if any(g is None for g in games):
            failed += 1
            continue
        by.setdefault((one, two), []).append(
            (str(r.get("question_id")), str(r.get("turn", 1)), sum(g or 0.0 for g in games) / 2)
        )
    issues = (
        [Issue(says=f"{failed} judgments failed: left out", file=str(source.path), code="failed-judgments")]
        if failed
        else []
    )
    items = [
        Items(ids=[f"{q}/{t}" for q, t, _ in found], dataset=f"MT-Bench against {two}", system=one, scored={"win_rate": [w for _, _, w in found]}, cluster=[q for q, _, _ in found],
              directions={"win_rate": True}, file=str(source.path), sha256=source.sha256)
        for (one, two), found in by.items()
    ]  # fmt: skip
    return Reading(items=items, issues=issues, format="MT-Bench pairwise judgments")


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
