"""Host memory of one node, and the disk that one checkpoint takes.

Both depend on who gathers what while loading and saving, so the ranges are wide; their ends are what was seen: the
cleanest run of each kind below, the one that was killed above (throughput.md section 6, bench/memory.py --host).
"""

from __future__ import annotations

import re
from typing import Any

from papertrain.core.values import Estimate, Value
from papertrain.plan.memory_state import State
from papertrain.plan.setup import Setup

GB = 1e9
PROCESS = (1.4 * GB, 3.0 * GB, 4.5 * GB)
"""Interpreter, libraries and CUDA context of one rank: a rank that loads nothing, a usual one, one with its buffers."""

# Bytes per parameter of the node's share, by what is offloaded: low, usual, high.
FULL_OFFLOAD = (15.7, 18.0, 28.0)
"""Master 4, moments 8, gradient 4 as DeepSpeed's own log adds them up; +2 today; 28 seen in old releases."""
ADAPTER_OFFLOAD = {4.0: (3.8, 4.5, 7.0), 2.0: (1.9, 2.6, 5.0)}
"""The frozen base in its dtype; above, the copy being read while loading."""
QLORA_OFFLOAD = (0.41, 1.6, 2.0)
"""Packed decoder layers alone; 70B on two cards while training; the same while loading."""


class Host(Value, frozen=True, kw_only=True):
    """Bytes of one node, of its busiest process, and of a rank that loads nothing."""

    node: tuple[float, float, float]
    busiest: tuple[float, float, float]
    idle: tuple[float, float, float]


def host(s: Setup, st: State) -> Host:
    """The largest of loading, training and saving."""
    ranks = max(1, s.n_gpus // max(1, s.n_nodes))
    share = ranks / max(1, s.n_gpus)
    n = float(s.model.parameters)
    adapters = st.trainable < 0.5 * n
    loaded = 4.0 if s.weights_dtype in (None, "fp32") else 2.0
    base = tuple(p * ranks for p in PROCESS)
    quantised = s.quantization not in (None, "none") or s.method == "qlora"
    if s.offload in ("optimizer", "params", "params+optimizer") and not (adapters and s.offload == "optimizer"):
        if not adapters:
            per = FULL_OFFLOAD
            if s.sharding in ("fsdp1", "fsdp2", "none", "ddp"):
                # torch keeps states in the dtype of the weights; every rank gathers a 16-bit copy when it saves
                w = 2.0 if s.weights_dtype in ("bf16", "fp16") else 4.0
                per = (3 * w, 3 * w + 2.0, 3 * w + 1.9 * ranks / share)
            if s.sharding == "none" and s.offload == "optimizer":
                per = FULL_OFFLOAD
        elif quantised:
            per = QLORA_OFFLOAD
        else:
            per = ADAPTER_OFFLOAD[loaded]
        held = tuple(n * share * x for x in per)
    else:
        # weights pass through the host while they are loaded: once in the best case, twice on every rank in the worst
        held = (0.0, n * 2.0, n * 2.0 * loaded * ranks * (0.5 if ranks == 1 or s.sharding == "none" else 1.0))
    node = (base[0] + held[0], base[1] + held[1], base[2] + held[2])
    if s.sharding in ("fsdp1", "fsdp2", "zero3") and s.offload == "none":
        busiest = (PROCESS[0] + n * 1.9, PROCESS[1] + n * loaded, PROCESS[2] + n * 8.0)
    elif s.offload in ("params", "params+optimizer"):
        busiest = (PROCESS[0] + held[0] / ranks, PROCESS[1] + held[1], PROCESS[2] + held[2])
    else:
        busiest = (PROCESS[0], PROCESS[1] + held[1] / ranks, PROCESS[2] + held[2] / ranks)
    return Host(node=node, busiest=busiest, idle=(PROCESS[0], PROCESS[1], PROCESS[2]))


def host_bytes(s: Setup, st: State) -> Estimate:
    """Peak of one node."""
    low, value, high = host(s, st).node
    return Estimate(value=value, low=low, high=high, unit="bytes")


def disk_bytes(s: Setup, st: State) -> Estimate:
    """One checkpoint from which training can be resumed."""
    n = float(s.model.parameters)
    if st.trainable < 0.5 * n:
        # adapters and both moments in fp32; DeepSpeed and FSDP may add the whole frozen base
        size = st.trainable * 12.0
        high = size + 6.8 * n if s.sharding not in ("none", "ddp") else size * 1.05
        return Estimate(value=size, low=size * 0.95, high=high, unit="bytes")
    plain = s.sharding in ("none", "ddp") and s.weights_dtype in ("bf16", "fp16") and s.trainable_dtype != "fp32"
    per = 6.2 if plain else 14.0
    return Estimate(value=n * per, low=n * per * 0.92, high=n * per * 1.03, unit="bytes")


def row_host(r: Any) -> dict[str, int]:
    """Host memory of a recipe, as printed."""
    return _plain(host(r.setup, r.state).node)


def row_disk(r: Any) -> dict[str, int]:
    """Disk of a recipe, as printed."""
    e = disk_bytes(r.setup, r.state)
    return _plain((e.low or 0.0, e.value or 0.0, e.high or 0.0))


def host_of_row(row: Any, r: Any, out: dict[str, Any]) -> dict[str, Any]:
    """A row that asks for one reading of host or disk: which process or file, in which phase."""
    scope, phase = str(row.scope or "").lower(), str(row.phase or "").lower()
    n = _count(row.n_params)
    if row.kind == "disk":
        size = _file(phase, scope, str(row.method or ""), row.weights_dtype, n, r)
        out["disk_bytes"] = None if size is None else _plain(size)
        if size is None:
            out["unknown"] = out["unknown"] or "what the file holds is not stated: its size cannot be said"
    elif row.kind == "host_ram" and r is not None:
        h = host(r.setup, r.state)
        loading = "load" in phase and "rank 1" in scope
        three = h.idle if loading or ("rank" in scope and r.setup.tensor_parallel > 1) else h.node
        if not loading and ("process" in scope or "per rank" in scope) and three is h.node:
            three = h.busiest
        if "pinned" in scope:
            three = (h.node[0] - PROCESS[0], h.node[1], h.node[2])
        out["host_bytes"] = _plain(three)
    return out


def _file(
    phase: str, scope: str, method: str, dtype: Any, n: float | None, r: Any
) -> tuple[float, float, float] | None:
    """(low, usual, high) bytes of what a phase writes."""
    whole = float(r.setup.model.parameters) if r is not None else None
    rank = re.search(r"\br(\d{1,3})\b", phase)
    trained = n if n and (whole is None or n < 0.2 * whole) else None
    if trained is None and r is not None and (r.setup.lora_rank or rank):
        trained = r.state.trainable * (float(rank[1]) / (r.setup.lora_rank or 8) if rank else 1.0)
    count = n if n and (whole is None or n >= 0.2 * whole) else whole
    wide = 4.0 if dtype == "fp32" or "fp32" in phase else 2.0
    adapters = method in ("lora", "dora", "rslora", "qlora", "osf")
    if method == "vera":
        return None  # its shared random matrices are saved too
    if "full checkpoint" in phase and count:
        return count * 12.9, count * 14.0, count * 14.3
    if "frozen base" in phase and count:
        return count * 2.0, count * 4.0, count * 7.2
    if "adapter" in phase and trained and adapters:
        return trained * (1.99 if method == "osf" else 3.98), trained * 4.01, trained * 4.05
    if "optim" in phase and trained and adapters:
        return trained * 7.9, trained * 8.0, trained * 8.2
    if any(w in phase for w in ("weights", "model", "save_pretrained")) and count:
        return count * wide * 0.98, count * wide * 1.005, count * wide * 1.08
    return None


def _count(value: Any) -> float | None:
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e15
    return float(value) if good else None


def _plain(three: tuple[float, ...]) -> dict[str, int]:
    return {"value": int(three[1]), "low": int(three[0]), "high": int(three[2])}
