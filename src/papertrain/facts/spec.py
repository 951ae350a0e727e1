"""config.json → ModelSpec, and the rough shape behind `7B` alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from papertrain.core.errors import PapertrainError, nearest
from papertrain.core.models import Linear, ModelSpec
from papertrain.core.values import Source
from papertrain.facts.config import Fields
from papertrain.facts.counting import Architecture

_CHAT = re.compile(
    r"(?:^|[-_. ])(instruct|chat|it|sft|dpo|zephyr|vicuna|alpaca|assistant|rlhf|tulu|hermes|openchat|thinking|r1|qwq|oss)(?=$|[-_. ])",
    re.I,
)
_BASE = re.compile(r"[-_. ](base|pt|pretrained)$", re.I)
_SIZE = re.compile(r"^\s*~?\s*(\d+(?:\.\d+)?)\s*([bm])(?:\s+(?:model|llm|params?|parameters))?\s*$", re.I)


@cache
def architectures() -> dict[str, Architecture]:
    """model type → the family that counts it."""
    from papertrain.core.discover import discover
    from papertrain.facts import architectures as package

    return {t: a for a in discover(package, "ARCHITECTURE").values() for t in a.model_types}


def model_type(config: Fields) -> str:
    """The word in the file, or what its class is called (`LlamaForCausalLM` → llama) where it has none."""
    stated = config.text("model_type", default="")
    if stated in architectures():
        return stated
    for name in config.texts("architectures"):
        stem = re.sub(r"(For[A-Z]\w*|LMHeadModel|Model)$", "", name)
        snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", stem).lower()
        for candidate in (snake, snake.replace("_", ""), snake.replace("_", "-")):
            if not stated and candidate in architectures():
                return candidate
    return stated


def spec_from_config(
    table: Mapping[str, Any],
    *,
    name: str,
    where: str | Path = "config.json",
    source: Source,
    local_path: str | None = None,
) -> ModelSpec:
    """Counts added up from the shape. Raises PapertrainError for an unknown architecture: a guess would look like a fact."""
    config = Fields(table, where)
    kind = model_type(config)
    family = architectures().get(kind)
    if family is None:
        raise unknown_architecture(kind, where)
    if kind != table.get("model_type"):
        config = Fields({**table, "model_type": kind}, where)
    parts = family.parts(config)
    spec = parts.of(config, name=name, source=source, architecture=kind, local_path=local_path)
    notes, packed = spec.notes, None
    if isinstance(table.get("quantization_config"), dict):
        how = str(table["quantization_config"].get("quant_method", "quantised"))[:20]
        notes = (*notes, f"the stored weights are quantised ({how}); counts are those of the model before that")
        packed = quantisation(table["quantization_config"])
    return replace(spec, instruct=is_instruct(name), quantized=packed, notes=notes)


def quantisation(table: Mapping[str, Any]) -> str | None:
    """The project's word for what `quantization_config` says; None for FP8 and its like, which are loaded as 16 bits to train."""
    how = str(table.get("quant_method", "")).lower()
    if how == "bitsandbytes":
        if table.get("load_in_4bit") is True:
            return "nf4-double" if table.get("bnb_4bit_use_double_quant") is True else "nf4"
        return "int8" if table.get("load_in_8bit") is True else "other"
    if how in ("gptq", "awq"):
        return f"{how}4" if table.get("bits", table.get("w_bit", 4)) == 4 else "other"
    return None if how in ("fp8", "fbgemm_fp8", "mxfp4", "") else "other"


def unknown_architecture(kind: str, where: str | Path) -> PapertrainError:
    return PapertrainError(
        f"its architecture {kind or '(none stated)'!r} is not one we can count",
        code="unknown-architecture",
        file=where,
        nearest=nearest(kind, architectures()) if kind else None,
        ask=[
            "the model's safetensors files beside config.json (only their headers are read)",
            "or a model of a known architecture, or a size such as 7B",
        ],
    )


def is_instruct(name: str) -> bool | None:
    """What the name says. One that says nothing says nothing."""
    short = name.rsplit("/", 1)[-1]
    if _BASE.search(short):
        return False
    return True if _CHAT.search(short) else None


def rough_parameters(text: str) -> float | None:
    """`7B`, `0.5b`, `350M`, `13B model` → the number."""
    m = _SIZE.match(text)
    return float(m[1]) * (1e9 if m[2].lower() == "b" else 1e6) if m else None


def rough_model(parameters: float, name: str = "") -> ModelSpec:
    """A Llama-like shape of about that size. Every figure that follows from it is assumed, and it says so."""
    n = round(parameters)
    if not 1_000_000 <= n <= 10**13:
        raise PapertrainError(
            f"{name or n}: a model of {n:,} parameters is not something we can plan for", code="bad-model"
        )
    layers, hidden = _usual_shape(n)
    heads = max(1, hidden // 128)
    kv = 8 if n >= 30e9 and heads % 8 == 0 else heads
    vocab = 32_000 if n >= 5e8 else 8_000
    attention = layers * (2 * hidden * hidden + 2 * hidden * (kv * hidden // heads))
    left = n - 2 * vocab * hidden - attention - (2 * layers + 1) * hidden
    ffn = max(1, left // (3 * layers * hidden))
    linears = (
        *(Linear(name=m, inputs=hidden, outputs=w, count=layers, active=layers, place="attention") for m, w in (("q_proj", hidden), ("k_proj", kv * hidden // heads), ("v_proj", kv * hidden // heads), ("o_proj", hidden))),
        Linear(name="gate_proj", inputs=hidden, outputs=ffn, count=layers, active=layers, place="mlp"),
        Linear(name="up_proj", inputs=hidden, outputs=ffn, count=layers, active=layers, place="mlp"),
        Linear(name="down_proj", inputs=ffn, outputs=hidden, count=layers, active=layers, place="mlp"),
        Linear(name="lm_head", inputs=hidden, outputs=vocab, count=1, active=1, place="head"),
    )  # fmt: skip
    embedding = vocab * hidden
    return ModelSpec(
        name=name or f"{n / 1e9:g}B", source=Source(kind="assumed", ref="a Llama-like shape of the stated size"), architecture="llama", kind="causal",
        layers=layers, hidden=hidden, heads=heads, kv_heads=kv, head_dim=hidden // heads, ffn=ffn, vocab=vocab, parameters=n, active_parameters=n,
        embedding_parameters=embedding, other_parameters=n - embedding - sum(m.parameters for m in linears), linears=linears, exact=False,
        notes=("only the size is known: layers, widths and every figure that follows are assumed",),
    )  # fmt: skip


def _usual_shape(n: int) -> tuple[int, int]:
    """Layers and width of released models of about that size (Llama 1 to 3, TinyLlama, Pythia), nearest in ratio."""
    usual = {70e6: (6, 512), 160e6: (12, 768), 410e6: (24, 1024), 1.1e9: (22, 2048), 3.2e9: (28, 3072), 6.7e9: (32, 4096), 13e9: (40, 5120),
             32.5e9: (60, 6656), 69e9: (80, 8192), 175e9: (96, 12288), 405e9: (126, 16384)}  # fmt: skip
    size = min(usual, key=lambda s: max(s / n, n / s))
    layers, hidden = usual[size]
    # Between the released sizes, depth and width both grow with the cube root of the ratio.
    ratio = (n / size) ** (1 / 3)
    return max(1, round(layers * ratio)), max(128, round(hidden * ratio / 128) * 128)
