"""One line of a cases file → a Setup. Words as printed by many sources; what a source does not say stays None."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from papertrain.core.errors import PapertrainError
from papertrain.core.models import Gpu, ModelSpec
from papertrain.core.values import Unknown, Value
from papertrain.facts.hardware import match_gpu
from papertrain.facts.models import find_model
from papertrain.plan.memory import UNSAID
from papertrain.plan.memory_dtypes import ADAPTERS
from papertrain.plan.setup import Setup
from papertrain.plan.shapes import by_size, described

_METHODS = {"full": "full", "sft": "full", "pretrain": "full", "freeze": "freeze", "lora": "lora", "rslora": "rslora",
            "lora+": "lora", "dora": "dora", "qlora": "qlora", "qdora": "qlora"}  # fmt: skip
_QUANT = {"nf4": "nf4", "nf4-double": "nf4-double", "fp4": "fp4", "gptq4": "gptq4", "gptq": "gptq4", "awq4": "awq4", "awq": "awq4",
          "int8": "int8", "none": "none", "4bit": "nf4", "int4": "gptq4"}  # fmt: skip
_SHARDING = {"none": "none", "ddp": "ddp", "zero1": "zero1", "zero2": "zero2", "zero3": "zero3", "fsdp": "fsdp1", "fsdp1": "fsdp1",
             "fsdp2": "fsdp2", "deepspeed": "zero2", "hsdp": "fsdp2"}  # fmt: skip
_ATTENTION = {"eager": "eager", "sdpa": "sdpa", "flash": "flash", "flash_attention_2": "flash", "fa2": "flash"}
_CHECKPOINTING = {
    "none": "none",
    "full": "full",
    "selective": "selective",
    "true": "full",
    "false": "none",
    "unsloth": "full",
}
_LOSSES = ("full_logits", "fused_ce", "fused_linear_ce", "chunked_ce", "chunked_linear_ce")


class Case(Value, frozen=True, kw_only=True):
    """A row made ready. `setup` holds batch 1 and length 1; the row's own numbers come per line."""

    setup: Setup | None
    unknown: Unknown | None = None
    assumed: tuple[str, ...] = ()


def prepare(row: Mapping[str, Any]) -> Case:
    """Everything of the row but batch and length. An Unknown says what is missing and how to supply it."""
    method = str(row.get("method") or "full").lower()
    if method not in _METHODS:
        return Case(
            setup=None,
            unknown=Unknown(
                why=f"no memory model for the method {method!r}",
                ask=f"one of {', '.join(sorted(set(_METHODS.values())))}",
            ),
        )
    model, assumed = spec_of(_name(row.get("model")), _count(row.get("n_params")))
    if model is None:
        return Case(
            setup=None,
            unknown=Unknown(
                why=f"the model {row.get('model')!r} is not on record", ask="a local config.json, or n_params"
            ),
        )
    if model.kind in UNSAID:
        return Case(
            setup=None,
            unknown=Unknown(why=f"no memory model for {model.kind}: {UNSAID[model.kind]}", ask="a text or image model"),
        )
    quant = _QUANT.get(str(row.get("base_quantization") or "none").lower())
    if quant is None:
        return Case(
            setup=None,
            unknown=Unknown(
                why=f"no memory model for the quantisation {row.get('base_quantization')!r}",
                ask="none, nf4, nf4-double, gptq4, awq4 or int8",
            ),
        )
    if quant == "none" and row.get("base_quantization") is None and method.startswith("q"):
        quant = None
    if quant not in (None, "none") and _METHODS[method] not in ADAPTERS:
        return Case(
            setup=None,
            unknown=Unknown(
                why=f"a base quantised to {quant} cannot be trained in full",
                ask="method lora or qlora, or base_quantization none",
            ),
        )
    n = _count(row.get("n_gpus")) or 1
    said = str(row.get("sharding") or "none").lower()
    sharding = _SHARDING.get(said.split(" ")[0], "none")
    tensor = _count(row.get("tensor_parallel")) or (n if said.startswith(("tp", "megatron")) else 1)
    if sharding == "none" and n > 1 and tensor == 1:
        sharding = "ddp"
    nodes = _count(row.get("n_nodes")) or 1
    if said.startswith("hsdp") and nodes > 1 and n % nodes == 0:
        # shards stay inside a node, whole copies of them lie in the others
        n, nodes = n // nodes, 1
        assumed = (*assumed, "hybrid sharding: what the copies exchange between nodes is not in the speed")
    gpu = gpu_of(_name(row.get("gpu")))
    if gpu is not None and gpu.id == "cpu" and n * nodes > 1:
        return Case(
            setup=None,
            unknown=Unknown(why="cpu is the one processor of this machine: several processes share it", ask="n_gpus 1"),
        )
    weights = _word(row.get("weights_dtype"))
    targets = row.get("lora_targets")
    if isinstance(targets, list):
        targets = tuple(str(t) for t in targets)
    elif targets is not None:
        targets = str(targets)
    trainable = _count(row.get("trainable_params"))
    if method == "freeze" and trainable is None:
        return Case(
            setup=None,
            unknown=Unknown(why="freeze trains some layers: how many parameters is not stated", ask="trainable_params"),
        )
    saved = row.get("modules_to_save")
    return Case(
        setup=Setup(
            model=model, gpu=gpu, n_gpus=n, n_nodes=nodes, framework=_word(row.get("framework")),
            method=_METHODS[method], quantization=quant, weights_dtype=weights if weights not in ("int4", "nf4") else None,  # type: ignore[arg-type]
            trainable_dtype=_word(row.get("trainable_dtype")), autocast=_word(row.get("autocast")),
            upcast=_flag(row.get("upcast_for_kbit_training")), lora_rank=_count(row.get("lora_rank")),
            lora_targets=targets if _METHODS[method] in ADAPTERS else None,
            modules_to_save=tuple(str(x) for x in saved) if isinstance(saved, list) else (),
            optimizer=_word(row.get("optimizer")), optimizer_in_backward=bool(row.get("optimizer_in_backward")),
            gradient_checkpointing=_CHECKPOINTING.get(str(row.get("gradient_checkpointing")).lower()),  # type: ignore[arg-type]
            attention=_ATTENTION.get(str(row.get("attention")).split(" ")[0].lower()),  # type: ignore[arg-type]
            loss=row["loss"] if row.get("loss") in _LOSSES else None, compiled=bool(row.get("compiled")), float8=bool(row.get("float8")),
            sharding=sharding, offload=offload_of(row.get("offload")), context_parallel=_count(row.get("context_parallel")) or 1,  # type: ignore[arg-type]
            tensor_parallel=tensor, gradient_accumulation_steps=_count(row.get("gradient_accumulation_steps")),
            trainable_parameters=trainable,
            link_bytes_per_second=link_of(_name(row.get("interconnect"))), network_bytes_per_second=network_of(_name(row.get("interconnect")), n, nodes),
        ),
        assumed=assumed,
    )  # fmt: skip


@lru_cache(maxsize=4096)
def spec_of(name: Any, n_params: int | None) -> tuple[ModelSpec | None, tuple[str, ...]]:
    """The model of that name, else of that description, else a rough shape of that size (never exact)."""
    text = str(name or "").strip()
    if text:
        bare = text.split(" (")[0].strip()
        for word in (text, bare) if bare != text else (text,):
            try:
                return find_model(word), ()
            except PapertrainError:
                continue
    found = described(text, n_params) if text else None
    if found is not None:
        return found, (f"the shape of {text!r} was read from its description",)
    if text and (n_params or _has_size(text)):
        rough = by_size(text, n_params)
        if rough is not None:
            return rough, (
                f"{text!r} is not on record: a Llama shape of {rough.parameters:,} parameters stands for it",
            )
    return None, ()


def _has_size(text: str) -> bool:
    return by_size(text) is not None


@lru_cache(maxsize=1024)
def gpu_of(name: Any) -> Gpu | None:
    """The device of that name, or None."""
    try:
        return match_gpu(name) if isinstance(name, str) else None
    except PapertrainError:
        return None


def offload_of(said: Any) -> str:
    """`optimizer+params (pinned)`, `params (FSDP CPUOffload)` → the project's word."""
    words = str(said or "none").lower().split(" (")[0]
    if words.startswith("activation"):
        return "activations"
    params, optimizer = "param" in words, "optim" in words
    return "params+optimizer" if params and optimizer else "params" if params else "optimizer" if optimizer else "none"


def link_of(said: Any) -> float | None:
    """Bytes per second inside a node that a description names; None where it names none."""
    words = str(said or "").lower()
    if ("no nvlink" not in words and "nvlink" in words) or not words:
        return None
    if "older motherboard" in words or "x4" in words:
        return 8e9
    if "pcie" in words:
        return 26e9
    return None


def network_of(said: Any, n_gpus: int, n_nodes: int) -> float | None:
    """Bytes per second per device between nodes that a description names."""
    import re

    if n_nodes < 2:
        return None
    words = str(said or "").lower()
    m = re.search(r"(\d+(?:\.\d+)?)\s*gbps", words)
    per_node = max(1, n_gpus // n_nodes)
    if m:
        return float(m[1]) * 1e9 / 8 / per_node
    m = re.search(r"(\d+)x omni-path 100", words)
    if m or "omni-path" in words:
        return (int(m[1]) if m else 1) * 12.5e9 / per_node
    return None


def number(value: Any) -> int | None:
    """A positive whole number, or None. 0, negatives, text and true are no sizes."""
    return _count(value)


def _count(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e15:
        return None
    return int(value) or None


def _name(value: Any) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) < 500 else None


def _word(value: Any) -> str | None:
    return value.lower() if isinstance(value, str) and 0 < len(value) < 200 else None


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None
