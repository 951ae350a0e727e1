"""The line that takes another way to run: the alternative's changes as options of `plan`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from papertrain.core.texts import say
from papertrain.core.training import Alternative, TrainingPlan
from papertrain.core.units import show_bytes

OPTIONS = {"method": "method", "task": "task", "sequence_length": "seq_len"}
NODE = 8


def nearest_way(p: TrainingPlan) -> Alternative | None:
    """The nearest way that fits, of a plan that does not: on these cards before other ones, the experiment kept before changed."""
    good = [a for a in p.alternatives if a.fits in ("yes", "tight") and a.changes]
    return next((a for a in good if a.fits == "yes"), good[0] if good else None)


def way(p: TrainingPlan, changes: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """(options of `plan`, its --set pairs) that make these changes."""
    options = {OPTIONS[k]: str(v) for k, v in changes.items() if k in OPTIONS}
    if "gpus" in changes:
        gpus = int(changes["gpus"])
        card = str(changes.get("gpu", p.compute.gpu.id))
        per_node = min(gpus, max(p.compute.gpus_per_node, NODE))
        options["gpu"] = f"{per_node}x {card}"
        if gpus > per_node:
            options["nodes"] = str(gpus // per_node)
    # With other cards the layout follows from them; accumulation follows from batch and cards.
    derived = {"gpu", "gpus", "gradient_accumulation_steps", *OPTIONS}
    sets = {} if "gpus" in changes else {k: str(v) for k, v in changes.items() if k not in derived}
    return options, sets


def words(options: Mapping[str, str], sets: Mapping[str, str]) -> list[str]:
    """`--method qlora --set zero_stage=2` as words of a command."""
    found = [w for k, v in options.items() for w in (f"--{k.replace('_', '-')}", v)]
    return found + [w for k, v in sets.items() for w in ("--set", f"{k}={v}")]


def too_large(p: TrainingPlan) -> str:
    """That the plan does not fit, with its figures; empty where it does, or where nobody knows."""
    if p.fits != "no":
        return ""
    m = p.memory
    need = m.device_bytes.value if m is not None else None
    if m is None or need is None or not m.capacity_bytes or need <= m.capacity_bytes:
        return say("the plan of {method} does not fit", method=p.name)
    return say("the plan of {method} does not fit: it needs {need} of {room} a device", method=p.name, need=show_bytes(need), room=show_bytes(m.capacity_bytes))  # fmt: skip
