"""Host memory and disk of a run."""

from __future__ import annotations

from typing import Any

from papertrain.core.values import Estimate
from papertrain.plan.memory_state import State
from papertrain.plan.setup import Setup


def host_bytes(s: Setup, st: State) -> Estimate:
    """Peak of one node: offloaded states, the loading of the weights, and what each process needs to exist."""
    per_node = max(1, s.n_gpus // max(1, s.n_nodes))
    n = float(s.model.parameters)
    share = per_node / max(1, s.n_gpus)
    floor = 3.0e9 * per_node
    low, value, high = floor * 0.6, floor, floor * 2
    adapters = st.trainable < 0.5 * n
    if s.offload in ("optimizer", "params+optimizer"):
        per = (15.7, 18.0, 26.0) if not adapters else (0.0, 0.0, 0.0)
        if adapters and s.offload == "params+optimizer":
            held = 0.6 if s.quantization not in (None, "none") else 2.0
            per = (held, 1.6 * held, 3.0 * held)
        low, value, high = (floor + n * share * x for x in per)
    elif s.offload == "params":
        low, value, high = (floor + n * share * x for x in (2.0, 4.0, 6.2))
    load = 2.0 * n
    return Estimate(value=max(value, load), low=low, high=max(high, 2 * load), unit="bytes")


def disk_bytes(s: Setup, st: State) -> Estimate:
    """One checkpoint that can be resumed."""
    n = float(s.model.parameters)
    if st.trainable < 0.5 * n:
        size = st.trainable * 12.0
    else:
        size = n * 14.0
    return Estimate(value=size, low=size * 0.95, high=size * 1.05, unit="bytes")


def row_host(r: Any) -> dict[str, int]:
    """Host memory of a recipe, as printed."""
    e = host_bytes(r.setup, r.state)
    return {"value": int(e.value or 0), "low": int(e.low or 0), "high": int(e.high or 0)}


def row_disk(r: Any) -> dict[str, int]:
    e = disk_bytes(r.setup, r.state)
    return {"value": int(e.value or 0), "low": int(e.low or 0), "high": int(e.high or 0)}


def host_of_row(row: Any, r: Any, out: dict[str, Any]) -> dict[str, Any]:
    return out
