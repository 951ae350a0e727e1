"""The plan of one training run: a `Decision` per knob."""

from __future__ import annotations

from typing import Any

import msgspec

from papertrain.core.errors import PapertrainError
from papertrain.core.models import Compute, DatasetProfile, ModelSpec
from papertrain.core.spelled import spelled
from papertrain.core.values import Decision, Effect, Estimate, Record


class Memory(Record, frozen=True, kw_only=True):
    """Predicted peak of one device (and of the host, and the disk of the run), in bytes.

    allocated: torch's peak of live tensors; reserved: what its allocator holds; device: what nvidia-smi shows.
    components add up to allocated at the peak phase, except `context`, which only the device meter sees.
    """

    allocated_bytes: Estimate
    reserved_bytes: Estimate
    device_bytes: Estimate
    capacity_bytes: int | None
    components: dict[str, float]
    peak_phase: str
    host_bytes: Estimate
    disk_bytes: Estimate
    phases: dict[str, float] = {}
    basis: tuple[str, ...] = ()


class Duration(Record, frozen=True, kw_only=True):
    """Predicted time of one run, in seconds."""

    step_seconds: Estimate
    total_seconds: Estimate
    tokens_per_second_per_gpu: Estimate
    basis: str = ""


class Alternative(Record, frozen=True, kw_only=True):
    """Another way to run. `changes` maps decision names to new values. relative_time: of the plan's own time for the same
    examples; where the number of steps is known, that of the whole run."""

    what: str
    fits: str
    effect: Effect
    changes: dict[str, Any]
    step_seconds: float | None = None
    relative_time: float | None = None
    device_bytes: float | None = None


class TrainingPlan(Record, frozen=True, kw_only=True):
    """What `plan` derives and everything else reads. `plan.json` is this value."""

    schema: str = "papertrain-plan/1"
    name: str = "ours"
    task: str
    rules: str = "method"
    model: ModelSpec
    dataset: DatasetProfile | None
    compute: Compute
    fits: str
    method: Decision[str]
    micro_batch_size: Decision[int]
    gradient_accumulation_steps: Decision[int]
    global_batch_size: Decision[int]
    learning_rate: Decision[float]
    lr_scheduler: Decision[str]
    epochs: Decision[float]
    total_steps: Decision[int | None]
    warmup_steps: Decision[int | None]
    weight_decay: Decision[float]
    optimizer: Decision[str]
    precision: Decision[str]
    gradient_checkpointing: Decision[str]
    zero_stage: Decision[int]
    offload: Decision[str]
    attention: Decision[str]
    packing: Decision[bool]
    sequence_length: Decision[int]
    max_grad_norm: Decision[float]
    seed: Decision[int]
    eval_steps: Decision[int | None]
    save_steps: Decision[int | None]
    early_stopping_patience: Decision[int]
    template: Decision[str | None] | None = None
    lora_rank: Decision[int] | None = None
    lora_alpha: Decision[int] | None = None
    lora_dropout: Decision[float] | None = None
    lora_targets: Decision[str | list[str]] | None = None
    beta: Decision[float] | None = None
    validation_share: Decision[float] | None = None
    loss: Decision[str] | None = None
    memory: Memory | None = None
    duration: Duration | None = None
    alternatives: tuple[Alternative, ...] = ()
    warnings: tuple[str, ...] = ()
    provisional: bool = False

    def decisions(self) -> tuple[Decision[Any], ...]:
        """Every knob, in the order of this class."""
        found = (getattr(self, f) for f in self.__struct_fields__)
        return tuple(d for d in found if isinstance(d, Decision))

    def decision(self, name: str) -> Decision[Any] | None:
        """The knob of that name, or None."""
        return next((d for d in self.decisions() if d.name == name), None)

    def values(self) -> dict[str, Any]:
        """Knob name → value."""
        return {d.name: d.value for d in self.decisions()}


def read_plan(text: bytes | str) -> TrainingPlan:
    """`plan.json` back as a value. Raises msgspec.DecodeError or msgspec.ValidationError."""
    return msgspec.json.decode(text, type=TrainingPlan)


def write_plan(plan: TrainingPlan) -> str:
    """The text of `plan.json`: the same plan gives the same bytes. Raises PapertrainError for a name that none can hold."""
    try:
        blob = msgspec.json.encode(plan)
    except UnicodeEncodeError as error:
        raise PapertrainError(
            f"a name in the plan is not UTF-8, and no config can hold it: {spelled(str(error.object))}",
            code="no-utf8",
            ask=["rename that file or folder"],
        ) from None
    return msgspec.json.format(blob, indent=2).decode() + "\n"
