"""What a setting really was in the run: the log is the run, a config is only what was meant."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from papertrain.diagnose.case import Case

COUNTS = {
    "micro_batch_size": "batch per device",
    "gradient_accumulation_steps": "accumulation",
    "epochs": "epochs",
    "max_steps": "steps",
}


def rate(case: Case) -> float | None:
    """The highest learning rate that the log shows, or None."""
    seen = [v for v in case.values("learning_rate") if math.isfinite(v) and v > 0]
    return max(seen, default=None)


def value(case: Case, knob: str, written: Any) -> Any:
    """What a relative change starts from: of a written and a logged learning rate the logged one."""
    if knob != "learning_rate":
        return case.facts.get(knob) if written is None else written
    logged, text = rate(case), written if written is not None else case.facts.get(knob)
    if logged is None or not isinstance(text, (int, float)) or isinstance(text, bool):
        return text if logged is None else logged
    return logged if differs(case, logged, float(text)) else text


def settled(case: Case) -> bool:
    """The logged rate has reached its highest value and left it, or stayed there: warm-up is over."""
    seen = [v for v in case.values("learning_rate") if math.isfinite(v)]
    return len(seen) >= 4 and (seen[-1] < max(seen) or seen[-3:].count(max(seen)) == 3)


def differs(case: Case, logged: float, written: float) -> bool:
    if written <= 0:
        return False
    return logged > 1.05 * written or (settled(case) and logged < 0.9 * written)


def disagreements(case: Case) -> Iterator[str]:
    """Where the log and the configs cannot be of the same run."""
    facts = case.facts
    for knob, name in COUNTS.items():
        logged, meant = facts.number(f"log:{knob}"), facts.number(knob)
        if logged is not None and meant is not None and meant > 0 and abs(logged - meant) > 0.01 * logged:
            yield f"{name} {logged:g} in the log, {meant:g} in the config"
    fact = facts.found.get("learning_rate")
    seen, text = rate(case), facts.number("learning_rate")
    if fact is not None and fact.rank >= 2 and seen is not None and text and differs(case, seen, text):
        yield f"learning rate {seen:g} in the log, {text:g} in the config"
