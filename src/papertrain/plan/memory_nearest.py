"""The measured runs that are most like a setup, and how far the estimate is off them.

memory = with_basis(predict(setup), setup)
"""

from __future__ import annotations

import json
import math
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from papertrain.core.texts import say
from papertrain.core.training import Memory
from papertrain.facts.profiles import find_profile
from papertrain.plan.cases import prepare, spec_of
from papertrain.plan.memory import cached, peak
from papertrain.plan.setup import Setup

RUNS = Path(__file__).parents[1] / "facts/runs/memory.jsonl"
GIB = 2**30
FAR = 3.0
"""Beyond it a run is of another kind: another method and another stack, or a model ten times as large."""

_METERS = (
    ("allocated_gib", "allocated"),
    ("reserved_gib", "reserved"),
    ("device_gib", "device"),
    ("unknown_meter_gib", "device"),
)
_SIZE = re.compile(r"(\d+(?:[._]\d+)?)\s*b\b", re.IGNORECASE)


@lru_cache(maxsize=1)
def measured() -> tuple[dict[str, Any], ...]:
    """Runs whose source says everything that an estimate needs."""
    rows = (json.loads(line) for line in RUNS.read_text("utf-8").splitlines() if line)
    return tuple(r for r in rows if r["use"] == "score" and r.get("measured"))


def nearest(s: Setup, n: int = 3) -> tuple[str, ...]:
    """One line per run, the most alike first; one line that says so where there is none. Every run was on a card, and
    tells nothing about a processor."""
    on_card = s.gpu is None or s.gpu.id != "cpu"
    near = sorted(((distance(s, r), i) for i, r in enumerate(measured()) if on_card), key=lambda x: x[0])
    found: list[str] = []
    models = set()
    for d, i in near:
        row = measured()[i]
        if d > FAR or len(found) == n:
            break
        line = _line(row)
        if line and (row["model"], row.get("loss")) not in models:
            models.add((row["model"], row.get("loss")))
            found.append(line)
    return tuple(found) or (
        say("none of the measured runs is like yours: `papertrain launch WORK --smoke` measures it"),
    )


def with_basis(memory: Memory, s: Setup, n: int = 3) -> Memory:
    """The memory with the nearest measured runs under `basis`."""
    return msgspec.structs.replace(memory, basis=(*memory.basis, *nearest(s, n)))


def distance(s: Setup, row: dict[str, Any]) -> float:
    """0 for the same run; each difference adds what it does to the error of an estimate."""
    d = 0.0
    d += 2.5 * (_texts(s.model.kind) != _texts(_kind_of(row["model"])))
    adapters = s.method != "full"
    d += 2.5 * (adapters != (row["method"] != "full"))
    quantised = s.quantization not in (None, "none") or s.method == "qlora"
    d += 1.0 * (quantised != (row.get("base_quantization", "none") != "none"))
    d += 0.7 * (find_profile(s.framework).id != find_profile(row.get("framework")).id)
    d += 1.0 * (_kind(s.sharding) != _kind(row.get("sharding", "none"))) + 0.2 * (s.n_gpus != row.get("n_gpus", 1))
    d += 0.7 * ((s.gradient_checkpointing or "none") != row.get("gradient_checkpointing", "none"))
    d += 0.5 * ((s.loss or "full_logits") != row.get("loss", "full_logits"))
    d += 0.5 * ((s.offload != "none") != (row.get("offload", "none") != "none"))
    size = row.get("n_params") or _size(row["model"])
    d += abs(math.log(s.model.parameters / size)) if size else 1.0
    tokens = row.get("micro_batch_size", 1) * row.get("sequence_length", 1)
    return float(d) + 0.25 * abs(math.log(max(1, s.micro_batch_size * s.sequence_length) / max(1, tokens)))


def _texts(kind: str) -> str:
    """A decoder's run tells nothing about an encoder's, whose logits are a handful, nor about an image model's."""
    return "decoder" if kind in ("causal", "multimodal", "speech") else kind


@lru_cache(maxsize=256)
def _kind_of(model: str) -> str:
    spec, _ = spec_of(model, None)
    return "vision" if "vit" in model.lower() else spec.kind if spec is not None else "causal"


def _kind(sharding: str) -> str:
    return (
        "zero3"
        if sharding == "zero3"
        else "fsdp"
        if sharding.startswith("fsdp")
        else "zero"
        if sharding.startswith("zero")
        else "none"
    )


def _size(name: str) -> float | None:
    m = _SIZE.search(name.replace("_", "."))
    return float(m[1]) * 1e9 if m else None


def _line(row: dict[str, Any]) -> str | None:
    case = prepare(row)
    if case.setup is None:
        return None
    p = peak(cached(case.setup), row["micro_batch_size"], row["sequence_length"])
    meter, name = next((m, x) for m, x in _METERS if m in row["measured"])
    real, guess = row["measured"][meter] * GIB, getattr(p, name)
    return say(
        "{real:.1f} GiB {meter} measured ({off:+.1f} %): {model}, {method}, {n}x {gpu}, {batch} x {length} tokens [{id}]",
        id=row["id"], model=row["model"].rpartition("/")[2], method=row["method"], n=row.get("n_gpus", 1), gpu=row.get("gpu", "GPU"),
        batch=row["micro_batch_size"], length=row["sequence_length"], real=real / GIB, meter=name, off=100 * (guess / real - 1),
    )  # fmt: skip
