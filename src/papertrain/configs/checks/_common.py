"""What several rules ask of a document."""

from __future__ import annotations

import re
from typing import Any

from papertrain.configs.checking.document import ConfigDocument
from papertrain.configs.checking.world import World
from papertrain.core.models import Gpu
from papertrain.facts.frameworks.load import release

SHARDED = ("deepspeed", "fsdp", "fsdp_config")


def stage(deepspeed: ConfigDocument | None) -> int | None:
    """The ZeRO stage of a DeepSpeed config; None where it is not a plain number."""
    value = deepspeed.at("zero_optimization", "stage") if deepspeed else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def zero_stage(document: ConfigDocument, world: World) -> int | None:
    """The ZeRO stage that a trainer's run will have, as far as its files say."""
    return stage(world.deepspeed(document))


def quantised(document: ConfigDocument) -> str | None:
    """The setting that loads the model in 4 or 8 bits, or None."""
    if document.kind == "llamafactory":
        return "quantization_bit" if document.get("quantization_bit") else None
    return next((k for k in ("load_in_4bit", "load_in_8bit", "gptq") if document.settings.get(k) is True), None)


def adapts(document: ConfigDocument) -> bool:
    """Whether adapters are trained rather than the model itself."""
    if document.kind == "llamafactory":
        return document.settings.get("finetuning_type", "lora") in ("lora", "oft")
    return bool(document.settings.get("use_peft") or document.settings.get("adapter"))


def word(document: ConfigDocument, key: str, default: str) -> str:
    """A setting that is a word, in lower case; a false one is `no`."""
    value = document.get(key, default)
    return ("no" if value is False else str(value)).lower()


def before(card: Gpu, capability: float) -> bool:
    """Whether an NVIDIA card is older than a compute capability."""
    try:
        return (
            card.vendor == "nvidia"
            and card.compute_capability is not None
            and float(card.compute_capability) < capability
        )
    except ValueError:
        return False


def older(version: str | None, than: str) -> bool:
    return version is not None and release(version) < release(than)


def under_unsloth(document: ConfigDocument) -> bool:
    """Whether a script imports unsloth, which replaces TRL's trainers and configs by its own."""
    return (
        document.format == "python" and re.search(r"^\s*(?:import|from)\s+unsloth\b", document.text, re.M) is not None
    )


def unread(value: Any) -> bool:
    """A value that only running the program, or filling in a template, would tell."""
    return type(value).__name__ == "Unread" or (isinstance(value, str) and ("$" in value or "{{" in value))


def whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
