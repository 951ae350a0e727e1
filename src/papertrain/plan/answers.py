"""Rows of a cases file → the answers that `estimate` prints. Twenty thousand of them take about a second."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Any

import msgspec

from papertrain.plan.cases import Case, number, prepare
from papertrain.plan.host import host_of_row, row_disk, row_host
from papertrain.plan.memory import Recipe, cached, peak
from papertrain.plan.memory_range import least, verdict_of
from papertrain.plan.time import pace_of, spread, tokens_per_second

ASSUMED_LENGTH = 512
"""Tokens of a sequence, for the speed alone, where a row does not say: a padded instruction."""

Row = dict[str, Any]
_NULL = msgspec.Raw(b"null")


class Line(msgspec.Struct):
    """One row, unchecked: any field may hold anything. Fields that are not here are skipped unread."""

    id: Any = None
    micro_batch_size: Any = None
    sequence_length: Any = None
    global_batch_size: Any = None
    lora_targets: msgspec.Raw = _NULL
    modules_to_save: msgspec.Raw = _NULL
    model: Any = None
    n_params: Any = None
    framework: Any = None
    method: Any = None
    base_quantization: Any = None
    weights_dtype: Any = None
    trainable_dtype: Any = None
    autocast: Any = None
    upcast_for_kbit_training: Any = None
    lora_rank: Any = None
    optimizer: Any = None
    optimizer_in_backward: Any = None
    gradient_checkpointing: Any = None
    attention: Any = None
    loss: Any = None
    compiled: Any = None
    float8: Any = None
    n_gpus: Any = None
    n_nodes: Any = None
    sharding: Any = None
    engine: Any = None
    offload: Any = None
    context_parallel: Any = None
    tensor_parallel: Any = None
    gradient_accumulation_steps: Any = None
    gpu: Any = None
    interconnect: Any = None
    trainable_params: Any = None
    kind: Any = None
    scope: Any = None
    phase: Any = None


SHARED = tuple(f for f in Line.__struct_fields__ if f not in (
    "id", "micro_batch_size", "sequence_length", "global_batch_size", "lora_targets", "modules_to_save"))  # fmt: skip
_decode = msgspec.json.Decoder(Line).decode
_shared = attrgetter(*SHARED)


class Ready:
    """A row's setup with everything that its lines share, worked out once."""

    __slots__ = ("case", "disk", "host", "pace", "ranges", "recipe", "speed")

    def __init__(self, case: Case, recipe: Recipe | None) -> None:
        self.case = case
        self.recipe = recipe
        if recipe is not None:
            g = recipe.ranges
            self.ranges = (g.allocated_down, g.allocated_up, g.reserved_down, g.reserved_up, g.device_down, g.device_up)
            self.speed = spread(recipe)
            self.disk = row_disk(recipe)
            self.host = row_host(recipe)
            self.pace = pace_of(recipe)


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
            yield nothing(None, f"line {index}: {_short(error)}", "one JSON object a line")
            continue
        yield answer(row, ready)


def answer(row: Line, ready: dict[Any, Ready]) -> Row:
    """What can be said about one row; null with its reason where nothing can."""
    key: Any = (_shared(row), bytes(row.lora_targets), bytes(row.modules_to_save))
    try:
        found = ready.get(key)
    except TypeError:  # a list or an object where a word belongs
        key = repr(key)
        found = ready.get(key)
    if found is None:
        if len(ready) > 50_000:
            ready.clear()
        case = prepare(row_of(row))
        found = ready[key] = Ready(case, cached(case.setup) if case.setup is not None else None)
    name = row.id if isinstance(row.id, (str, int)) or row.id is None else repr(row.id)[:80]
    recipe = found.recipe
    if recipe is None:
        gap = found.case.unknown
        out = nothing(name, gap.why if gap else "", gap.ask if gap else "")
        return host_of_row(row, None, out)
    s = recipe.setup
    batch, length = number(row.micro_batch_size), number(row.sequence_length)
    accumulation = s.gradient_accumulation_steps
    ranks = max(1, s.n_gpus // max(1, s.tensor_parallel))
    whole = number(row.global_batch_size)
    if batch is None and whole is not None and accumulation is not None:
        batch = max(1, whole // (ranks * accumulation))
    unknown, ask = "", ""
    if found.case.assumed:
        unknown = "; ".join(found.case.assumed)
    if batch is None or length is None:
        missing = " and ".join(n for n, v in (("micro_batch_size", batch), ("sequence_length", length)) if v is None)
        out = nothing(name, f"{missing} not stated: memory cannot be said", missing)
        out["host_bytes"], out["disk_bytes"] = found.host, found.disk
    else:
        p = peak(recipe, batch, length)
        a, b, c = p.allocated, p.reserved, p.device
        r = found.ranges
        low = max(c * (1 - r[4]), least(s, a))
        capacity = None if s.gpu is None else s.gpu.memory_bytes
        out = {
            "id": name,
            "allocated_bytes": {"value": int(a), "low": int(a * (1 - r[0])), "high": int(a * (1 + r[1]))},
            "reserved_bytes": {"value": int(b), "low": int(b * (1 - r[2])), "high": int(b * (1 + r[3]))},
            "device_bytes": {"value": int(c), "low": int(low), "high": int(c * (1 + r[5]))},
            "host_bytes": found.host,
            "disk_bytes": found.disk,
            "components": {k: int(v) for k, v in p.components.items()},
            "peak_phase": p.phase,
            "fits": "unknown"
            if capacity is None
            else verdict_of(capacity, max(low, a + p.components["context"]), c * (1 + r[5])),
            "tokens_per_second_per_gpu": None,
            "unknown": unknown,
            "ask": ask,
        }
    speed_length, spare = (length, 1.0) if length is not None else (ASSUMED_LENGTH, 1.5)
    if batch is not None:
        if accumulation is None:
            accumulation = max(1, round(whole / (batch * ranks))) if whole is not None else 1
        if found.pace is not None:
            t = tokens_per_second(recipe, found.pace, batch, speed_length, accumulation)
            down, up = found.speed
            out["tokens_per_second_per_gpu"] = {
                "value": round(t, 2),
                "low": round(t / down / spare, 2),
                "high": round(t * up * spare, 2),
            }
            if length is None:
                out["unknown"] += f"; speed for an assumed length of {ASSUMED_LENGTH} tokens"
        elif s.gpu is None:
            out["unknown"] = _and(out["unknown"], "the device is not known: fits and speed cannot be said")
            out["ask"] = _and(out["ask"], "gpu")
        else:
            out["unknown"] = _and(out["unknown"], f"no peak or memory bandwidth on record for {s.gpu.id}: no speed")
    if row.kind is not None:
        return host_of_row(row, recipe, out)
    return out


def nothing(name: Any, why: str, ask: str) -> Row:
    """An answer that is all null, with its reason."""
    return {
        "id": name, "allocated_bytes": None, "reserved_bytes": None, "device_bytes": None, "host_bytes": None, "disk_bytes": None,
        "components": {}, "peak_phase": None, "fits": "unknown", "tokens_per_second_per_gpu": None, "unknown": why, "ask": ask,
    }  # fmt: skip


def row_of(line: Line) -> dict[str, Any]:
    """The shared part of a row as a dict, for what is worked out once."""
    row = {f: getattr(line, f) for f in SHARED}
    for f in ("lora_targets", "modules_to_save"):
        try:
            row[f] = msgspec.json.decode(getattr(line, f))
        except (msgspec.DecodeError, RecursionError):
            row[f] = None
    return row


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:160] or type(error).__name__


def _and(a: str, b: str) -> str:
    return f"{a}; {b}" if a else b
