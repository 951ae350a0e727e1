"""A small fair sweep: two more plans around a derived value, the same budget for every method, each trial on record."""

from __future__ import annotations

import json
from typing import Any

from msgspec import structs

from papertrain.core.errors import PapertrainError
from papertrain.core.training import TrainingPlan
from papertrain.core.units import significant
from papertrain.plan.derive_question import Question

# What the published sweeps step by: half a step of theirs is 1.8x, and a rank matters less than a rate.
FACTORS = {
    "learning_rate": 3.0,
    "beta": 3.0,
    "weight_decay": 10.0,
    "lora_rank": 2.0,
    "epochs": 2.0,
    "global_batch_size": 2.0,
}
WHOLE = frozenset({"lora_rank", "global_batch_size"})
RECORD = "sweep.json"


def trials(q: Question, p: TrainingPlan, parameter: str) -> list[Question]:
    """The questions of the runs below and above the derived value. Raises PapertrainError for what cannot be swept."""
    d = p.decision(parameter)
    if d is None:
        raise PapertrainError(f"this plan has no {parameter} to sweep", code="nothing-to-sweep")
    if not d.value:
        raise PapertrainError(
            f"{parameter} is {d.value} in this plan: there is nothing around it", code="nothing-to-sweep"
        )
    low, high = around(parameter, d.value)
    return [
        structs.replace(q, name=f"{q.name}-{parameter}-{word}", sets={**q.sets, parameter: value})
        for word, value in (("low", low), ("high", high))
    ]


def around(parameter: str, value: float) -> tuple[float, float]:
    factor = FACTORS[parameter]
    low, high = value / factor, value * factor
    return (max(1, round(low)), round(high)) if parameter in WHOLE else (significant(low), significant(high))


def record(parameter: str, plans: list[TrainingPlan]) -> str:
    """What the appendix needs: every trial with its value, where the choice is made, how many runs a method got."""
    found: dict[str, Any] = {
        "parameter": parameter,
        "budget": len(plans),
        "chosen_on": "validation loss of the development split, never the test set",
        "trials": [{"method": p.name, "value": p.values()[parameter]} for p in plans],
    }
    return json.dumps(found, indent=2) + "\n"
