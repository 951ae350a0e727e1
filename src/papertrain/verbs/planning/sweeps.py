"""A small fair sweep: two more plans around a derived value, the same budget for every method, each trial on record."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from msgspec import structs

from papertrain.core.commands import quoted
from papertrain.core.errors import PapertrainError, nearest
from papertrain.core.files import read_text
from papertrain.core.texts import say
from papertrain.core.training import TrainingPlan
from papertrain.core.units import significant
from papertrain.core.workspace import STUDY, SWEEP, Workspace
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
KEYS = ("parameter", "methods")


def declared(place: Path | None, method: str) -> str | None:
    """What `[sweeps]` of study.toml asks for this method: `parameter = "learning_rate"`, for all methods or those named."""
    table = _table(place)
    if table is None or is_trial(method):
        return None
    file = Path(str(place)) / STUDY
    for key in table:
        if key not in KEYS:
            raise PapertrainError(
                f"unknown key {key!r} in [sweeps]", code="unknown-key", file=file, nearest=nearest(key, KEYS)
            )
    parameter, methods = table.get("parameter"), table.get("methods")
    if not isinstance(parameter, str) or parameter not in FACTORS:
        raise PapertrainError(
            f"[sweeps] parameter is {str(parameter)[:60]!r}; it can be one of {', '.join(FACTORS)}", code="unknown-name", file=file,
            nearest=nearest(str(parameter), FACTORS),
        )  # fmt: skip
    if methods is not None and not (isinstance(methods, list) and all(isinstance(m, str) for m in methods)):
        raise PapertrainError("[sweeps] methods is a list of names", code="bad-study", file=file)
    return parameter if methods is None or method in methods else None


def _table(place: Path | None) -> dict[str, Any] | None:
    """`[sweeps]` of the study, or None. A file that is no TOML is told by whoever reads the study."""
    if place is None or not (place / STUDY).is_file():
        return None
    try:
        found = tomllib.loads(read_text(place / STUDY, limit=2**20)).get("sweeps")
    except (ValueError, RecursionError):
        return None
    if found is not None and not isinstance(found, dict):
        raise PapertrainError("[sweeps] must be a table", code="bad-study", file=place / STUDY)
    return found or None


def is_trial(method: str) -> bool:
    """Whether the name is one that a sweep gave to a run beside the derived one."""
    return any(method.endswith(f"-{p}-{word}") for p in FACTORS for word in ("low", "high"))


def unequal(place: Path | None, method: str, parameter: str | None) -> list[str]:
    """What would make the comparison unfair: another method with fewer runs."""
    if place is None or parameter is None or is_trial(method) or not Workspace.is_workspace(place):
        return []
    space = Workspace(place)
    swept = {m for m in space.methods() if space.plan_path(m).with_name(SWEEP).is_file()}
    poorer = [m for m in space.methods() if m != method and m not in swept and not is_trial(m)]
    return [
        say(
            "{other} has one run where {method} has three: papertrain plan {work} --name {other} --sweep {parameter} gives it the same budget",
            other=m, method=method, work=quoted(place), parameter=parameter,
        )
        for m in poorer
    ]  # fmt: skip


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
