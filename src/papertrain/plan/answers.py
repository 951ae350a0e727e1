"""Rows of a cases file → the answers that `estimate` prints. Twenty thousand of them take about a second."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from papertrain.plan.cases import READ, Case, number, prepare
from papertrain.plan.host import host_of_row, row_disk, row_host
from papertrain.plan.memory import Recipe, cached, peak
from papertrain.plan.memory_range import least, verdict_of
from papertrain.plan.time import spread, tokens_per_second

ASSUMED_LENGTH = 512
"""Tokens of a sequence, for the speed alone, where a row does not say: a padded instruction."""

Row = dict[str, Any]
_decode = msgspec.json.Decoder().decode


class Ready:
    """A row's setup with everything that its lines share, worked out once."""

    __slots__ = ("case", "recipe", "ranges", "speed", "disk")

    def __init__(self, case: Case, recipe: Recipe | None) -> None:
        self.case = case
        self.recipe = recipe
        if recipe is not None:
            g = recipe.ranges
            self.ranges = (g.allocated_down, g.allocated_up, g.reserved_down, g.reserved_up, g.device_down, g.device_up)
            self.speed = spread(recipe)
            self.disk = row_disk(recipe)


def answers(lines: Iterable[bytes]) -> Iterator[Row]:
    """One answer per line that is not blank, in their order."""
    ready: dict[Any, Ready] = {}
    for index, line in enumerate(lines, 1):
        line = line.strip()
        if not line:
            continue
        try:
            row = _decode(line)
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            yield nothing(None, f"line {index} is not JSON: {error}", "one JSON object a line")
            continue
        if not isinstance(row, dict):
            yield nothing(None, f"line {index} is not a JSON object", "one JSON object a line")
            continue
        yield answer(row, ready)


def answer(row: Mapping[str, Any], ready: dict[Any, Ready]) -> Row:
    """What can be said about one row; null with its reason where nothing can."""
    key = tuple([x if not isinstance(x := row.get(f), (list, dict)) else repr(x) for f in READ])
    found = ready.get(key)
    if found is None:
        if len(ready) > 50_000:
            ready.clear()
        case = prepare(row)
        found = ready[key] = Ready(case, cached(case.setup) if case.setup is not None else None)
    name = row.get("id")
    recipe = found.recipe
    if recipe is None:
        gap = found.case.unknown
        out = nothing(name, gap.why if gap else "", gap.ask if gap else "")
        return host_of_row(row, None, out)
    s = recipe.setup
    batch, length = number(row.get("micro_batch_size")), number(row.get("sequence_length"))
    accumulation = s.gradient_accumulation_steps
    ranks = max(1, s.n_gpus // max(1, s.tensor_parallel))
    whole = number(row.get("global_batch_size"))
    if batch is None and whole is not None and accumulation is not None:
        batch = max(1, whole // (ranks * accumulation))
    unknown, ask = "", ""
    if found.case.assumed:
        unknown = "; ".join(found.case.assumed)
    if batch is None or length is None:
        missing = " and ".join(n for n, v in (("micro_batch_size", batch), ("sequence_length", length)) if v is None)
        out = nothing(name, f"{missing} is not stated: memory cannot be said", missing)
    else:
        p = peak(recipe, batch, length)
        a, b, c = p.allocated, p.reserved, p.device
        r = found.ranges
        capacity = None if s.gpu is None else s.gpu.memory_bytes
        out = {
            "id": name,
            "allocated_bytes": {"value": int(a), "low": int(a * (1 - r[0])), "high": int(a * (1 + r[1]))},
            "reserved_bytes": {"value": int(b), "low": int(b * (1 - r[2])), "high": int(b * (1 + r[3]))},
            "device_bytes": {"value": int(c), "low": int(c * (1 - r[4])), "high": int(c * (1 + r[5]))},
            "host_bytes": row_host(recipe, batch * length),
            "disk_bytes": found.disk,
            "components": {k: int(v) for k, v in p.components.items()},
            "peak_phase": p.phase,
            "fits": "unknown" if capacity is None else verdict_of(capacity, least(s.sharding == "fsdp1", a), c * (1 + r[5]), p.components["context"]),
            "tokens_per_second_per_gpu": None,
            "unknown": unknown,
            "ask": ask,
        }
    speed_length, spare = (length, 1.0) if length is not None else (ASSUMED_LENGTH, 1.5)
    if batch is not None:
        if accumulation is None:
            accumulation = max(1, round(whole / (batch * ranks))) if whole is not None else 1
        t = tokens_per_second(recipe, batch, speed_length, accumulation)
        if t is not None:
            down, up = found.speed
            out["tokens_per_second_per_gpu"] = {"value": round(t, 2), "low": round(t / down / spare, 2), "high": round(t * up * spare, 2)}
            if length is None:
                out["unknown"] += f"; speed for an assumed length of {ASSUMED_LENGTH} tokens"
        elif s.gpu is None:
            out["unknown"] = _and(out["unknown"], "the device is not known: fits and speed cannot be said")
            out["ask"] = _and(out["ask"], "gpu")
        else:
            out["unknown"] = _and(out["unknown"], f"no peak or memory bandwidth on record for {s.gpu.id}: no speed")
    if "kind" in row:
        return host_of_row(row, recipe, out)
    return out


def nothing(name: Any, why: str, ask: str) -> Row:
    """An answer that is all null, with its reason."""
    return {
        "id": name, "allocated_bytes": None, "reserved_bytes": None, "device_bytes": None, "host_bytes": None, "disk_bytes": None,
        "components": {}, "peak_phase": None, "fits": "unknown", "tokens_per_second_per_gpu": None, "unknown": why, "ask": ask,
    }  # fmt: skip


def _and(a: str, b: str) -> str:
    return f"{a}; {b}" if a else b
