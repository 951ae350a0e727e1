"""What the rules say about a signal."""

from __future__ import annotations

from typing import Literal

from papertrain.core.findings import Signal
from papertrain.core.values import Record
from papertrain.monitor.places import Unit

State = Literal["unknown", "normal", "warning", "critical"]
ORDER: tuple[State, ...] = ("unknown", "normal", "warning", "critical")

SIGNALS = ("train_loss", "eval_loss", "learning_rate", "gpu_utilization", "grad_norm", "loss_scale", "throughput", "gpu_memory",
           "token_accuracy", "reward_margin", "kl", "entropy", "checkpoint", "heartbeat")  # fmt: skip
"""The names of the contract, in the order in which they are shown."""


class Verdict(Record, frozen=True, kw_only=True):
    """One rule's word on one signal. `cls` is the failure that `diagnose` would look at first; `unit` is what `since_step`
    counts."""

    rule: str
    signal: str
    level: State
    says: str
    since_step: int | None = None
    unit: Unit = "step"
    seen: tuple[Signal, ...] = ()
    cls: str = ""


class SignalState(Record, frozen=True, kw_only=True):
    """One row of the answer: the worst verdict, or what is normal about it, or what is missing."""

    name: str
    level: State
    says: str
    since_step: int | None = None
    unit: Unit = "step"
    seen: tuple[Signal, ...] = ()
    rule: str = ""
    cls: str = ""


def worst(levels: list[State]) -> State:
    """The worst of the known levels; unknown only where none is known."""
    return max(levels, key=ORDER.index, default="unknown")
