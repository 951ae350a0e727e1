"""What was asked: model, data, cards, and what the user fixed. A plan is a function of this value alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from msgspec import structs

from papertrain.core.errors import PapertrainError, nearest
from papertrain.core.models import Compute, DatasetProfile, ModelSpec
from papertrain.core.values import Decision, Record, Source
from papertrain.plan.rulesets import METHODS, TASKS

T = TypeVar("T")
_MODULE = re.compile(r"[A-Za-z_][\w.]*")
_TEMPLATE = re.compile(r"[A-Za-z0-9][\w.+-]{0,63}")


class Question(Record, frozen=True, kw_only=True):
    """`sets`: decision name → the value that the user fixed. `columns`: part → column of the data, as the user named them.
    `validation`: a file of its own for the validation loss.
    `memory_shift`, `time_shift`: what a run of the user's moved the estimates by."""

    model: ModelSpec
    compute: Compute
    dataset: DatasetProfile | None = None
    columns: dict[str, str] = {}
    task: str | None = None
    method: str | None = None
    seq_len: int | None = None
    rules: str = "method"
    name: str = "ours"
    fine_grained: bool = False
    sets: dict[str, Any] = {}
    validation: str | None = None
    memory_shift: float = 1.0
    time_shift: float = 1.0


INT32, UINT32 = 2**31 - 1, 2**32 - 1
"""What the frameworks store steps and sizes in, and the largest seed that numpy takes."""


def _integer(least: int, most: int = INT32) -> Callable[[str, str], int]:
    def read(name: str, text: str) -> int:
        try:
            n = int(text.replace("_", "").replace(",", ""))
        except ValueError:
            n = least - 1
        if not least <= n <= most:
            far = f"from {least} on" if n < least else f"from {least} to {most:,}"
            raise PapertrainError(f"--set {name}={text[:80]}: a whole number {far} is expected", code="bad-value")
        return n

    return read


def _number(least: float, most: float, above: bool = False) -> Callable[[str, str], float]:
    def read(name: str, text: str) -> float:
        try:
            x = float(text)
        except ValueError:
            x = float("nan")
        if not (least < x <= most if above else least <= x <= most):
            range_ = f"{'above' if above else 'from'} {least:g} to {most:g}"
            raise PapertrainError(f"--set {name}={text}: a number {range_} is expected", code="bad-value")
        return x

    return read


def _word(*words: str) -> Callable[[str, str], str]:
    def read(name: str, text: str) -> str:
        if text not in words:
            raise PapertrainError(
                f"--set {name}={text}: one of {', '.join(words)} is expected",
                code="bad-value",
                nearest=nearest(text, words),
            )
        return text

    return read


def _yes(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false", "yes", "no", "1", "0"):
        raise PapertrainError(f"--set {name}={text}: true or false is expected", code="bad-value")
    return text.lower() in ("true", "yes", "1")


def _targets(name: str, text: str) -> str | list[str]:
    if text in ("all-linear", "all"):
        return "all-linear"
    found = [t.strip() for t in text.split(",") if t.strip()]
    if not found or not all(_MODULE.fullmatch(t) for t in found):
        raise PapertrainError(
            f"--set {name}={text[:80]}: all-linear, or module names with commas between, are expected", code="bad-value"
        )
    return found


def _template(name: str, text: str) -> str | None:
    if text.lower() in ("none", "null", ""):
        return None
    if not _TEMPLATE.fullmatch(text):
        raise PapertrainError(f"--set {name}={text[:80]}: the name of a chat template is expected", code="bad-value")
    return text


OPTIMIZERS = (
    "adamw", "adamw_fused", "adamw_8bit", "paged_adamw_8bit", "paged_adamw_32bit", "cpu_adamw", "adafactor", "sgd", "lion", "muon", "adam_mini",
)  # fmt: skip
PLANNED = tuple(o for o in OPTIMIZERS if o not in ("muon", "adam_mini"))
"""Those that every generated file can name: transformers has neither of the other two, whose memory is only estimated."""
SCHEDULERS = (
    "cosine", "linear", "constant", "constant_with_warmup", "cosine_with_min_lr", "polynomial", "inverse_sqrt", "warmup_stable_decay",
)  # fmt: skip

SETTABLE: dict[str, Callable[[str, str], Any]] = {
    "method": _word(*METHODS), "task": _word(*TASKS), "micro_batch_size": _integer(1), "gradient_accumulation_steps": _integer(1),
    "global_batch_size": _integer(1), "learning_rate": _number(0, 100, above=True), "lr_scheduler": _word(*SCHEDULERS),
    "epochs": _number(0, 10_000, above=True), "total_steps": _integer(1), "warmup_steps": _integer(0), "weight_decay": _number(0, 10),
    "optimizer": _word(*PLANNED), "precision": _word("fp32", "bf16", "fp16", "pure_bf16"),
    "gradient_checkpointing": _word("none", "selective", "full"), "zero_stage": _word("0", "1", "2", "3"),
    "offload": _word("none", "optimizer", "params+optimizer", "activations"), "attention": _word("eager", "sdpa", "flash"),
    "loss": _word("full_logits", "fused_linear_ce"),
    "packing": _yes, "sequence_length": _integer(8), "max_grad_norm": _number(0, 1e6), "seed": _integer(0, UINT32), "eval_steps": _integer(1),
    "save_steps": _integer(1), "early_stopping_patience": _integer(0), "template": _template, "lora_rank": _integer(1),
    "lora_alpha": _integer(1), "lora_dropout": _number(0, 0.999), "lora_targets": _targets, "beta": _number(0, 1e4),
    "validation_share": _number(0, 0.9),
}  # fmt: skip


def read_sets(pairs: Sequence[str]) -> dict[str, Any]:
    """`NAME=VALUE` … → values of the right kind. An unknown name is exit 2 with the nearest one."""
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        name, text = name.strip().replace("-", "_"), text.strip()
        if not equals:
            raise PapertrainError(
                f"--set {pair}: write it as NAME=VALUE", code="bad-value", ask=["--set learning_rate=1e-4"]
            )
        if name not in SETTABLE:
            raise PapertrainError(
                f"--set {name}: no decision of that name", code="unknown-name", nearest=nearest(name, SETTABLE)
            )
        value = SETTABLE[name](name, text)
        value = int(value) if name == "zero_stage" else value
        if found.setdefault(name, value) != value:
            raise PapertrainError(f"--set {name} is given twice, as {found[name]} and as {value}", code="contradiction")
    return found


def settle(decision: Decision[T], sets: dict[str, Any]) -> Decision[T]:
    """The decision, or the user's own value for it; the reason then says so, and what the rule would have given."""
    if decision.name not in sets or sets[decision.name] == decision.value:
        if decision.name in sets:
            return structs.replace(
                decision, why=f"set by the user; the rule agrees: {decision.why}", source=by_user(decision.name)
            )
        return decision
    from papertrain.core.units import show_number

    rule = show_number(decision.value)
    return structs.replace(
        decision,
        value=sets[decision.name],
        why=f"set by the user; the rule gives {rule}: {decision.why}",
        source=by_user(decision.name),
    )


def by_user(name: str) -> Source:
    return Source(kind="user", ref=f"--set {name}")
