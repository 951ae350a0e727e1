"""HELM `stats.json` and `per_instance_stats.json`. Perturbed rows do not belong to the main number; variance fields are
over trials and of the population, so errors come from the instances."""

from __future__ import annotations

from typing import Any

from papertrain.results.names import higher_is_better, scale
from papertrain.results.records import Items, Reader, Reading, Score
from papertrain.results.source import Source, number


def _named(row: Any) -> dict[str, Any] | None:
    name = row.get("name") if isinstance(row, dict) else None
    return name if isinstance(name, dict) and isinstance(name.get("name"), str) else None


def _list(source: Source) -> list[Any]:
    return source.json if isinstance(source.json, list) else []


def sniff(source: Source) -> bool:
    rows = _list(source)
    if not rows or not isinstance(rows[0], dict):
        return False
    return (_named(rows[0]) is not None and "sum_squared" in rows[0]) or (
        "instance_id" in rows[0] and isinstance(rows[0].get("stats"), list)
    )


def read(source: Source) -> Reading:
    rows = _list(source)
    if "instance_id" in rows[0]:
        return _instances(source, rows)
    scores = []
    for i, row in enumerate(rows):
        name = _named(row)
        if name is None or name.get("perturbation") or higher_is_better(name["name"]) is None:
            continue
        value = number(row.get("mean"))
        if value is not None:
            scores.append(Score(metric=name["name"], value=value, scale=scale(name["name"], [value]), file=str(source.path), sha256=source.sha256,
                                pointer=f"[{i}].mean", settings={"split": str(name.get("split", ""))}))  # fmt: skip
    splits = {s.settings["split"] for s in scores}
    if "test" in splits:
        scores = [s for s in scores if s.settings["split"] == "test"]
    return Reading(scores=scores, format="HELM stats")


def _instances(source: Source, rows: list[Any]) -> Reading:
    ids: list[str] = []
    values: dict[str, dict[str, float]] = {}
    for row in rows:
        if not isinstance(row, dict) or row.get("perturbation"):
            continue
        ids.append(f"{row.get('instance_id')}/{row.get('train_trial_index', 0)}")
        for stat in row.get("stats", []):
            name = _named(stat)
            value = number(stat.get("mean")) if name else None
            if name and value is not None and higher_is_better(name["name"]) is not None:
                values.setdefault(name["name"], {})[ids[-1]] = value
    scored = {m: [v[i] for i in ids] for m, v in values.items() if set(v) == set(ids)}
    item = Items(ids=ids, scored=scored, file=str(source.path), sha256=source.sha256, cluster=[i.rpartition("/")[0] for i in ids] if len({i.rpartition("/")[0] for i in ids}) < len(ids) else None)  # fmt: skip
    return Reading(items=[item], format="HELM per-instance stats")


READER = Reader(id="helm", title="HELM stats.json, per_instance_stats.json", sniff=sniff, read=read, order=10)
