"""lm-evaluation-harness `samples_<task>_<time>.jsonl`: one row per document and filter."""

from __future__ import annotations

import re
from typing import Any

from papertrain.results.records import Issue, Items, Reader, Reading
from papertrain.results.source import Source, number


def _rows(source: Source) -> list[dict[str, Any]]:
    """JSON lines, or the one list that 0.4.0 wrote under the same name."""
    if isinstance(source.json, list):
        return [r for r in source.json if isinstance(r, dict)]
    return (source.lines if source.json is None else None) or []


def sniff(source: Source) -> bool:
    first = (_rows(source) or [{}])[0]
    return {"doc_id", "target"} <= set(first) and bool({"filtered_resps", "resps", "metrics"} & set(first))


def task_of(name: str) -> str:
    m = re.match(r"samples_(.+?)_\d{4}-\d\d-\d\dT", name)
    return m[1] if m else re.sub(r"^samples_|\.jsonl?$", "", name)


def read(source: Source) -> Reading:
    by: dict[str, list[dict[str, Any]]] = {}
    for row in _rows(source):
        by.setdefault(str(row.get("filter", "none")), []).append(row)
    issues = [
        Issue(says=f"line {n} is no JSON object: skipped", file=str(source.path), code="bad-line")
        for n in source.bad_lines[:5]
    ]
    items = []
    for filter_, rows in by.items():
        hashed = all(isinstance(r.get("doc_hash"), str) for r in rows)
        names = rows[0].get("metrics") if isinstance(rows[0].get("metrics"), list) else []
        metrics = [m for m in (names or _numeric(rows)) if all(number(r.get(m)) is not None for r in rows)]
        suffix = "" if filter_ == "none" else f",{filter_}"
        if not hashed:
            issues.append(
                Issue(
                    says="no doc_hash: runs are paired by doc_id, which does not show whether the questions are the same",
                    file=str(source.path),
                    code="no-hash",
                )
            )
        items.append(Items(
            ids=[str(r["doc_hash"] if hashed else r.get("doc_id")) for r in rows], dataset=task_of(source.name),
            scored={m + suffix: [float(number(r[m]) or 0.0) for r in rows] for m in metrics}, gold=[str(r.get("target_hash", r.get("target"))) for r in rows],
            file=str(source.path), sha256=source.sha256, settings={"filter": filter_, "prompts": str(hash_of(rows))},
        ))  # fmt: skip
    return Reading(items=items, issues=issues, format="lm-evaluation-harness samples")


def hash_of(rows: list[dict[str, Any]]) -> str:
    import hashlib

    return hashlib.sha256("".join(sorted(str(r.get("prompt_hash", "")) for r in rows)).encode()).hexdigest()[:12]


def _numeric(rows: list[dict[str, Any]]) -> list[str]:
    return [k for k, v in rows[0].items() if k != "doc_id" and isinstance(v, (int, float)) and not isinstance(v, bool)]


READER = Reader(id="lm-eval-samples", title="lm-evaluation-harness samples_*.jsonl", sniff=sniff, read=read, order=10)
