"""Predictions as CSV, JSON lines, JSON list, parquet or npz: label and prediction, scores, probabilities, correctness,
generated and reference texts. Any column names, mapped with `--columns`."""

from __future__ import annotations

import math
import re
from typing import Any

from papertrain.core.errors import PapertrainError
from papertrain.results import roles
from papertrain.results.records import Issue, Items, Reader, Reading
from papertrain.results.source import Row, Source, number
from papertrain.results.stats.runs import pass_at_k

WHOLE = re.compile(r"-?\d+\.0")
PROBABILITY = ("prob_", "proba_", "p_", "probability_", "score_", "logits_", "probs_", "probabilities_")


def _names(source: Source) -> list[str]:
    table = source.table
    return list(table[0]) if table else []


def sniff(source: Source) -> bool:
    names = _names(source)
    if not names:
        return False
    r = roles.find(names, source.roles)
    per_item = "label" in r and ("prediction" in r or "score" in r or bool(_probabilities(names, r)))
    if per_item:
        return True
    if "value" in r or "metric" in r:
        return False
    if "correct" in r and ("id" in r or len(source.table) >= 20) and _binary(source.table, r["correct"]):
        return True
    if "loss" in r and ("tokens" in r or "id" in r) and len(source.table) > 1 and "method" not in r:
        return True
    return _wide_flags(source) is not None


def _binary(table: list[Row], column: str) -> bool:
    return all(_flag(row.get(column)) is not None for row in table[:200])


def _flag(x: Any) -> float | None:
    if isinstance(x, bool):
        return float(x)
    if isinstance(x, str) and x.strip().lower() in ("true", "false", "yes", "no"):
        return float(x.strip().lower() in ("true", "yes"))
    value = number(x)
    return value if value is not None and 0 <= value <= 1 else None


def _wide_flags(source: Source) -> tuple[str, list[str]] | None:
    """An id column and one 0/1 column per system."""
    names = _names(source)
    r = roles.find(names, source.roles)
    rest = [n for n in names if n != r.get("id")]
    if rest == [r.get("correct")]:
        return None
    if (
        "id" not in r
        or len(source.table) < 10
        or not rest
        or any(k in r for k in ("label", "prediction", "dataset", "metric", "value"))
    ):
        return None
    ok = all(number(row.get(n)) in (0.0, 1.0) for row in source.table[:500] for n in rest)
    return (r["id"], rest) if ok else None


def _probabilities(names: list[str], r: dict[str, str]) -> dict[str, str]:
    used = set(r.values())
    for prefix in PROBABILITY:
        found = {
            n[len(prefix) :]: n
            for n in names
            if n.lower().startswith(prefix) and len(n) > len(prefix) and n not in used
        }
        if len(found) >= 2:
            return found
    return {}


def read(source: Source) -> Reading:
    wide = _wide_flags(source)
    if wide:
        identity, names = wide
        ids = [str(row[identity]) for row in source.table]
        items = [
            Items(
                ids=ids,
                system=n,
                scored={"correct": [number(row[n]) or 0.0 for row in source.table]},
                file=str(source.path),
                sha256=source.sha256,
            )
            for n in names
        ]
        return Reading(items=[_checked(i) for i in items], format="0/1 scores per item and system")
    table, names = source.table, _names(source)
    r = roles.find(names, source.roles)
    issues = [
        Issue(
            says=f"line {n}: more cells than the header has, or no JSON: not read whole",
            file=str(source.path),
            code="bad-line",
        )
        for n in source.bad_lines[:3]
    ]
    r = _with_method(table, names, r)
    parts: dict[tuple[str, str, str], list[Row]] = {}
    for row in table:
        parts.setdefault((_part(row, r, "method"), _part(row, r, "dataset"), _part(row, r, "seed")), []).append(row)
    if len(parts) > max(50, len(table) // 5):
        for role in ("method", "dataset", "seed"):
            r.pop(role, None)
        parts = {("", "", ""): table}
    items = [_items(source, rows, names, r, key, issues) for key, rows in parts.items()]
    return Reading(items=items, issues=issues, format="predictions")


def _with_method(table: list[Row], names: list[str], r: dict[str, str]) -> dict[str, str]:
    """Where ids repeat and no column says the method, text columns with few values do (`representation`, `variant`)."""
    if "id" not in r or "method" in r or len({roles.cell(row, r["id"]) for row in table}) == len(table):
        return r
    used = {c for v in r.values() for c in v.split("+")}
    few = [
        n
        for n in names
        if n not in used
        and len({str(row.get(n)) for row in table}) <= max(2, len(table) // 10)
        and any(number(row.get(n)) is None for row in table[:50])
    ]
    return {**r, "method": "+".join(few)} if few else r


def _part(row: Row, r: dict[str, str], role: str) -> str:
    column = r.get(role)
    return "" if column is None or column in (r.get("prediction"), r.get("label")) else roles.cell(row, column)


def _items(
    source: Source, rows: list[Row], names: list[str], r: dict[str, str], key: tuple[str, str, str], issues: list[Issue]
) -> Items:
    where = str(source.path)
    probabilities = _probabilities(names, r)
    label = [row.get(r["label"]) for row in rows] if "label" in r else None
    prediction = [row.get(r["prediction"]) for row in rows] if "prediction" in r else None
    keep = list(range(len(rows)))
    if label is not None:
        keep = [i for i in keep if label[i] not in (None, "") or isinstance(label[i], list)]
        if len(keep) < len(rows):
            issues.append(
                Issue(says=f"{len(rows) - len(keep)} rows have no label: left out", file=where, code="no-label")
            )
        if not keep:
            raise PapertrainError(f"no row has a label in column {r['label']!r}", code="no-label", file=source.path)
    rows = [rows[i] for i in keep]
    score = _numbers(rows, r.get("score"), issues, where)
    probs = {c: v for c, n in probabilities.items() if (v := _numbers(rows, n, issues, where)) is not None}
    scored: dict[str, list[float]] = {}
    if "correct" in r and "label" not in r:
        scored["correct"] = [float(_flag(row.get(r["correct"])) or 0.0) for row in rows]
    if "loss" in r and (losses := _numbers(rows, r["loss"], issues, where)):
        tokens = _numbers(rows, r.get("tokens"), issues, where) or [1.0] * len(rows)
        scored |= {"nll": losses, "tokens": tokens}
    if "correct" in scored and "id" in r and len({roles.cell(row, r["id"]) for row in rows}) < len(rows):
        return _samples(source, rows, r, key, scored["correct"])
    item = Items(
        ids=_ids([roles.cell(row, r["id"]) for row in rows]) if "id" in r else [str(i) for i in keep], numbered="id" not in r,
        system=key[0], dataset=key[1], seed=key[2], label=[label[i] for i in keep] if label is not None else None,
        prediction=[prediction[i] for i in keep] if prediction is not None else None, score=score, probabilities=probs or None, scored=scored,
        cluster=[roles.cell(row, r["cluster"]) for row in rows] if "cluster" in r else None, columns=r, file=where, sha256=source.sha256,
        relevance=[row.get(r["relevance"]) for row in rows] if "relevance" in r else None,
    )  # fmt: skip
    return _checked(item)


def _ids(found: list[str]) -> list[str]:
    """Ids that a table program turned into `17.0` are `17`, so that they meet those of other files."""
    return [i[:-2] for i in found] if found and all(WHOLE.fullmatch(i) for i in found) else found


def _samples(
    source: Source, rows: list[Row], r: dict[str, str], key: tuple[str, str, str], correct: list[float]
) -> Items:
    """Several samples per problem: the unbiased pass@k of each problem, which is the unit."""
    by: dict[str, list[float]] = {}
    for row, c in zip(rows, correct):
        by.setdefault(roles.cell(row, r["id"]), []).append(c)
    fewest = min(map(len, by.values()))
    scored = {
        f"pass@{k}": [pass_at_k(len(v), round(sum(v)), k) for v in by.values()] for k in (1, 5, 10, 100) if k <= fewest
    }
    return Items(
        ids=list(by),
        system=key[0],
        dataset=key[1],
        seed=key[2],
        scored=scored,
        columns=r,
        file=str(source.path),
        sha256=source.sha256,
        directions=dict.fromkeys(scored, True),
    )


def _numbers(rows: list[Row], column: str | None, issues: list[Issue], where: str) -> list[float] | None:
    if column is None:
        return None
    values = [number(row.get(column)) for row in rows]
    if all(v is None for v in values):
        return None
    missing = sum(v is None for v in values)
    if missing:
        issues.append(
            Issue(
                says=f"column {column!r}: {missing} of {len(values)} values are no finite numbers, so it is not used",
                file=where,
                code="not-a-number",
            )
        )
        return None
    return [float(v) for v in values if v is not None and math.isfinite(v)]


def _checked(item: Items) -> Items:
    """Raises PapertrainError where an id occurs twice: no pairing is possible, and scores would count items double."""
    if len(set(item.ids)) < len(item.ids):
        seen: set[str] = set()
        twice = next(i for i in item.ids if i in seen or seen.add(i))  # type: ignore[func-returns-value]
        raise PapertrainError(f"id {twice!r} occurs more than once ({len(item.ids)} rows, {len(set(item.ids))} ids)", code="duplicate-id", file=item.file,
                              ask=["make ids unique, or name the id column with --columns id=NAME"])  # fmt: skip
    return item


READER = Reader(
    id="predictions", title="predictions (csv, jsonl, json, parquet, npz)", sniff=sniff, read=read, order=60
)
