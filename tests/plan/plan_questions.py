"""Questions for the tests of the planner: catalogue models, cards on record, data described by its counts."""

from __future__ import annotations

from typing import Any

from papertrain.core.models import Compute, DatasetProfile, LengthProfile
from papertrain.core.training import TrainingPlan
from papertrain.facts.hardware import parse_compute
from papertrain.facts.models import find_model
from papertrain.plan.derive import derive
from papertrain.plan.derive_question import Question, read_sets


def data(examples: int = 41_107, tokens_each: int = 300, longest: int = 900, **more: Any) -> DatasetProfile:
    lengths = LengthProfile(
        mean=float(tokens_each),
        p50=tokens_each,
        p90=2 * tokens_each,
        p95=int(2.5 * tokens_each),
        p99=longest - 50,
        longest=longest,
    )
    fields: dict[str, Any] = {
        "path": "train.jsonl", "sha256": "0" * 64, "format": "alpaca", "rows": examples, "examples": examples, "tokens": examples * tokens_each,
        "trainable_tokens": examples * tokens_each // 4, "lengths": lengths, "exact": True,
    }  # fmt: skip
    return DatasetProfile(**{**fields, **more})


def question(model: str, gpu: str, *, host: int | None = None, sets: tuple[str, ...] = (), **more: Any) -> Question:
    compute: Compute = parse_compute(gpu, host_ram=host)
    return Question(model=find_model(model), compute=compute, sets=read_sets(sets), **more)


def plan(model: str, gpu: str, **more: Any) -> TrainingPlan:
    return derive(question(model, gpu, **more))
