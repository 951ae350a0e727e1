"""A training config as one configuration of the planner, so that it can say whether it fits."""

from __future__ import annotations

from typing import Any

from papertrain.configs.checking.document import ConfigDocument
from papertrain.configs.checking.world import World

OPTIMIZERS = {
    "adamw_torch": "adamw",
    "adamw_torch_fused": "adamw_fused",
    "adamw_bnb_8bit": "adamw_8bit",
    "paged_adamw_32bit": "paged_adamw",
    "adamw_hf": "adamw",
}
ATTENTION = {
    "fa2": "flash",
    "fa3": "flash",
    "flash_attention_2": "flash",
    "flash_attention_3": "flash",
    "disabled": "eager",
    "eager": "eager",
}
FRAMEWORKS = {"llamafactory": "llamafactory", "trl": "trl (hf-trainer)", "axolotl": "axolotl", "trainer": "hf-trainer"}


def case(document: ConfigDocument, world: World) -> dict[str, Any] | None:
    """The row of a cases file that this config is, as far as it says; None where what trains or on what is not said."""
    compute = world.compute
    named = document.get("model_name_or_path") or world.model
    if (
        compute is None
        or not isinstance(named, str)
        or not document.trains
        or document.role in ("override", "script", "v1", "megatron")
    ):
        return None
    method, quantised = _method(document)
    if (
        method is None
        or document.settings.get("stage", "sft") not in ("sft", "pt", "dpo", "kto", "rm")
        or document.role in ("grpo", "rloo")
    ):
        return None
    full = method == "full"
    pure = document.settings.get("pure_bf16") is True
    half = (
        "bf16"
        if document.settings.get("bf16") in (True, "auto") or pure or document.kind == "trl"
        else "fp16"
        if document.settings.get("fp16") is True
        else None
    )
    return {
        "id": document.file,
        "model": named,
        "framework": FRAMEWORKS[document.kind],
        "method": method,
        "base_quantization": quantised,
        "weights_dtype": half or "fp32",
        "trainable_dtype": half if pure else "fp32",
        "autocast": "none" if pure or half is None else half,
        "lora_rank": None if full else document.integer("lora_rank") or 8,
        "lora_targets": None if full else "all-linear",
        "optimizer": OPTIMIZERS.get(str(document.get("optim", "adamw_torch")), str(document.get("optim", "adamw"))),
        "micro_batch_size": document.integer("per_device_train_batch_size") or (1 if document.kind == "axolotl" else 8),
        "sequence_length": document.integer("cutoff_len") or {"trl": 1024, "axolotl": 512}.get(document.kind, 2048),
        "gradient_checkpointing": "full" if _checkpoints(document) else "none",
        "attention": _attention(document),
        "loss": "fused_linear_ce" if document.settings.get("enable_liger_kernel") is True or document.settings.get("use_liger_kernel") is True else "full_logits",
        "n_gpus": compute.gpus,
        "sharding": _sharding(document, world),
        "offload": _offload(document, world),
        "gpu": compute.gpu.id,
    }  # fmt: skip


def _method(document: ConfigDocument) -> tuple[str | None, str]:
    if document.kind == "llamafactory":
        kind = document.settings.get("finetuning_type", "lora")
        bits = document.integer("quantization_bit")
        if kind not in ("lora", "full") or (
            bits and (bits != 4 or document.settings.get("quantization_method", "bnb") != "bnb")
        ):
            return None, "none"
        return (
            ("qlora", "nf4" if document.settings.get("double_quantization") is False else "nf4-double")
            if bits
            else (str(kind), "none")
        )
    if document.settings.get("load_in_8bit") is True:
        return None, "none"
    four = document.settings.get("load_in_4bit") is True
    adapts = document.settings.get("use_peft") is True or document.settings.get("adapter") in ("lora", "qlora")
    return ("qlora", "nf4") if four else ("lora" if adapts else "full", "none")


def _checkpoints(document: ConfigDocument) -> bool:
    if document.kind == "llamafactory":
        return document.settings.get("disable_gradient_checkpointing") is not True
    return bool(document.settings.get("gradient_checkpointing", document.kind == "trl"))


def _attention(document: ConfigDocument) -> str:
    named = document.settings.get("flash_attn") or document.settings.get("attn_implementation")
    return "flash" if document.settings.get("flash_attention") is True else ATTENTION.get(str(named), "sdpa")


def _sharding(document: ConfigDocument, world: World) -> str:
    below = world.deepspeed(document)
    stage = below.at("zero_optimization", "stage") if below else None
    if isinstance(stage, int) and stage in (1, 2, 3):
        return f"zero{stage}"
    if document.settings.get("fsdp") or document.settings.get("fsdp_config"):
        return "fsdp2"
    return "ddp" if (world.world_size or 1) > 1 else "none"


def _offload(document: ConfigDocument, world: World) -> str:
    below = world.deepspeed(document)
    if below is None:
        return "none"
    parts = [
        below.at("zero_optimization", part, "device") in ("cpu", "nvme")
        for part in ("offload_optimizer", "offload_param")
    ]
    return "params+optimizer" if all(parts) else "optimizer" if parts[0] else "none"
