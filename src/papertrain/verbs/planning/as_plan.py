"""One estimated configuration as the plan of it: the options and --set pairs that ask the same question."""

from __future__ import annotations

from typing import Any

from papertrain.core.commands import line
from papertrain.plan.derive_question import SETTABLE
from papertrain.plan.derive_refusals import flashes
from papertrain.plan.rulesets import ADAPTERS
from papertrain.plan.setup import Setup

USUAL: dict[str, Any] = {
    "micro_batch_size": 1, "gradient_accumulation_steps": 1, "lora_rank": 8, "optimizer": "adamw", "precision": "bf16",
    "gradient_checkpointing": "full", "attention": "sdpa", "loss": "full_logits", "zero_stage": 0, "offload": "none",
}  # fmt: skip
"""What `estimate` takes where nothing is said: those the plan may derive anew."""


def command(s: Setup, precision: str, seq_len: int | None) -> str:
    """seq_len: as it was said, or None. What a plan has no word for (fsdp, a chunked loss) is left to be derived."""
    words = ["papertrain", "plan", s.model.name, "--method", str(s.method)]
    if s.gpu is not None and s.gpu.id == "cpu":
        words += ["--gpu", "cpu"]
    elif s.gpu is not None:
        words += ["--gpu", f"{s.n_gpus // s.n_nodes}x {s.gpu.id}", *(["--nodes", str(s.n_nodes)] if s.n_nodes > 1 else [])]  # fmt: skip
    if seq_len is not None and (s.model.rope_scaling or seq_len <= (s.model.max_positions or seq_len)) and seq_len >= 8:
        words += ["--seq-len", str(seq_len)]
    said = {
        "micro_batch_size": s.micro_batch_size, "gradient_accumulation_steps": s.gradient_accumulation_steps, "optimizer": s.optimizer,
        "precision": precision, "gradient_checkpointing": s.gradient_checkpointing, "attention": s.attention, "loss": s.loss, "offload": s.offload,
        "zero_stage": int(s.sharding[-1]) if str(s.sharding).startswith("zero") else 0, "lora_rank": s.lora_rank,
    }  # fmt: skip
    for name, value in said.items():
        if value is not None and value != USUAL[name] and fits_a_plan(s, name, value):
            words += ["--set", f"{name}={value}"]
    return line(*words)


def fits_a_plan(s: Setup, name: str, value: Any) -> bool:
    from papertrain.core.errors import PapertrainError

    if name == "lora_rank" and s.method not in ADAPTERS:
        return False
    if name == "attention" and value == "flash" and (s.gpu is None or not flashes(s.gpu)):
        return False
    packed = s.method == "qlora" or s.model.quantized is not None
    if packed and ((name, value) == ("zero_stage", 3) or (name, value) == ("offload", "params+optimizer")):
        return False
    if name == "offload" and (s.gpu is None or s.gpu.vendor not in ("nvidia", "amd", "huawei")):
        return False
    try:
        SETTABLE[name](name, str(value))
    except PapertrainError:
        return False
    return True
