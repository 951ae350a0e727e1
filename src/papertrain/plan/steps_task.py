"""What is trained and how it is read: task, method, precision, optimizer, length, packing, template."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

from papertrain.core.errors import PapertrainError
from papertrain.core.models import Compute, DatasetProfile, Gpu, ModelSpec
from papertrain.core.units import show_count
from papertrain.core.values import Contest, Decision, Source
from papertrain.facts.laws import law
from papertrain.plan.memory_dtypes import family
from papertrain.plan.memory_families import EAGER_ONLY
from papertrain.plan.rulesets import ADAPTERS, PREFERENCE, REINFORCED

FORMAT_TASK = {
    "alpaca": "sft", "sharegpt": "sft", "openai": "sft", "messages": "sft", "prompt-completion": "sft", "preference": "dpo", "kto": "kto",
    "text": "pt", "plain-text": "pt", "classification": "classification",
}  # fmt: skip
CHAT_TASKS = frozenset({"sft"}) | PREFERENCE | REINFORCED
SMALL = 1_000_000_000
PATCHES = re.compile(r"patch(\d{1,3})[-_](\d{2,4})")


def kind_of(data: DatasetProfile) -> str:
    """`alpaca` of `alpaca (jsonl)`: a profile says in brackets which files it was read from."""
    return data.format.partition(" (")[0].strip().lower().replace("_", "-")


def task_of(model: ModelSpec, data: DatasetProfile | None, asked: str | None) -> str:
    """The task: asked for, else what the data's format is made for, else what the model is."""
    if asked:
        return asked
    if data is not None:
        if (known := FORMAT_TASK.get(kind_of(data))) is not None:
            return known
        if data.labels:
            return "classification"
    return {"encoder": "classification", "vision": "image"}.get(model.kind, "sft")


CHATS = frozenset({"alpaca", "sharegpt", "messages", "openai", "prompt-completion"})
NEEDS = {
    "sft": CHATS | {"text", "plain-text"}, "ppo": CHATS | {"preference"}, "grpo": CHATS | {"preference"}, "classification": frozenset({"classification"}), "kto": frozenset({"kto", "preference"}),
    **dict.fromkeys(("dpo", "orpo", "simpo", "rm"), frozenset({"preference"})),
}  # fmt: skip


_PAIR = '{"prompt": "…", "chosen": "the better answer", "rejected": "the worse answer"}'
PAIRS = {
    **dict.fromkeys(("dpo", "orpo", "simpo", "rm"), _PAIR),
    "kto": '{"prompt": "…", "completion": "an answer", "label": true}',
}


def check_format(task: str, data: DatasetProfile | None) -> None:
    """A task that the data cannot teach is refused before anything is derived."""
    wanted = NEEDS.get(task)
    if data is None or wanted is None:
        return
    kind = kind_of(data)
    if kind in wanted or kind not in FORMAT_TASK:
        return
    other = FORMAT_TASK[kind]
    raise PapertrainError(
        f"{task} needs {' or '.join(sorted(wanted))} data, this file is {kind}",
        code="wrong-data",
        file=data.path,
        ask=[f"--task {other} for this file", *([f"rows as {PAIRS[task]} for {task}"] if task in PAIRS else [])],
    )


def method(model: ModelSpec, task: str, asked: str | None) -> Decision[str]:
    """Adapters from 1 B on, all weights below: a small model is trained whole at little cost."""
    size = show_count(model.parameters)
    if asked:
        return Decision(
            name="method",
            value=asked,
            why=f"asked for, for a model of {size}",
            source=Source(kind="user", ref="--method"),
            rests_on=("model",),
        )
    if model.quantized is None and (model.parameters < SMALL or model.kind in ("encoder", "vision")):
        return Decision(
            name="method", value="full", rests_on=("model", "task"), source=law("lora").source("targets"),
            why=f"{size} parameters: all of them are trained at little cost, and no adapter can learn more",
        )  # fmt: skip
    contest = (
        Contest(
            ref="arXiv:2405.09673",
            says="full fine-tuning learns more in continued pretraining, on code and mathematics",
        ),
    )
    return Decision(
        name="method", value="lora", rests_on=("model", "task", "compute"), source=Source(kind="paper", ref="LoRA Without Regret (2025): equal to full fine-tuning until the data exceed the adapter's capacity"),
        contested_by=contest if task in ("pt", "sft") else (),
        why=f"{size} parameters: adapters reach full fine-tuning until the data exceed their capacity, at a third of its memory or less",
    )  # fmt: skip


def precision(gpu: Gpu, model: ModelSpec) -> Decision[str]:
    """bf16 where the card has it; fp16 with loss scaling where it has only that, but for models that overflow there; fp32 on a
    processor."""
    source = gpu.sources.get("peak_bf16_dense_flops") or law("machine").source("precision")
    cc = f" (compute capability {gpu.compute_capability})" if gpu.compute_capability else ""
    if gpu.id == "cpu":
        return Decision(name="precision", value="fp32", rests_on=("compute",), source=Source(kind="assumed", ref="torch computes in fp32 unless told otherwise; 16-bit arithmetic of processors was not measured here"), why="a processor gains nothing from 16-bit numbers, and fp32 needs no loss scaling")  # fmt: skip
    if gpu.has_bf16 and not lacks_bf16(gpu):
        return Decision(
            name="precision",
            value="bf16",
            rests_on=("compute",),
            source=source,
            why=f"{gpu.label} has it{cc}, and bf16 needs no loss scaling",
        )
    if gpu.peak_fp16_dense_flops and family(model) in law("machine").get("overflows.families"):
        return Decision(
            name="precision", value="fp32", rests_on=("compute", "model"), source=law("machine").source("overflows"),
            why=f"{gpu.label} has no bf16{cc}, and {model.name.rpartition('/')[2]} overflows in fp16: its numbers were made in bf16",
        )  # fmt: skip
    if gpu.peak_fp16_dense_flops:
        return Decision(
            name="precision", value="fp16", rests_on=("compute",), source=gpu.sources.get("peak_fp16_dense_flops") or source,
            contested_by=(Contest(ref="torch.cuda.is_bf16_supported()", says="may answer yes by emulation, 7.6-9x slower than fp16"),),
            why=f"{gpu.label} has no bf16{cc}; fp16 with dynamic loss scaling",
        )  # fmt: skip
    return Decision(
        name="precision",
        value="fp32",
        rests_on=("compute",),
        source=law("machine").source("precision"),
        why=f"no 16-bit peak is on record for {gpu.label}",
    )


def lacks_bf16(gpu: Gpu) -> bool:
    """Volta, Turing and the first Ascend 910 have no bf16 in hardware, whatever the framework's call says."""
    try:
        return gpu.vendor == "nvidia" and gpu.compute_capability is not None and float(gpu.compute_capability) < 8.0
    except ValueError:
        return False


def refuse_bf16(gpu: Gpu, asked: Any) -> None:
    if asked in ("bf16", "pure_bf16") and gpu.id != "cpu" and (lacks_bf16(gpu) or not gpu.has_bf16):
        cc = f" (compute capability {gpu.compute_capability})" if gpu.compute_capability else ""
        raise PapertrainError(
            f"{gpu.label} has no bf16{cc}: it would be emulated 7.6-9x slower than fp16; use --set precision=fp16",
            code="no-bf16",
        )


def optimizer() -> Decision[str]:
    return Decision(
        name="optimizer",
        value="adamw",
        source=law("machine").source("optimizer"),
        why="what almost every published configuration uses, and what the rates here were found with",
    )


def attention(gpu: Gpu, model: ModelSpec) -> Decision[str]:
    if family(model) in EAGER_ONLY:
        return Decision(
            name="attention", value="eager", rests_on=("model",), source=law("machine").source("attention.eager_only"),
            why=f"transformers has no other kernel for {model.architecture} in every version: asked for sdpa it would stop at the start",
        )  # fmt: skip
    why = "torch's own kernel, the default of transformers: no attention matrix in memory"
    if gpu.vendor == "nvidia" and not lacks_bf16(gpu):
        why += "; FlashAttention-2 would need the flash-attn package"
    return Decision(
        name="attention", value="sdpa", rests_on=("compute",), source=law("machine").source("attention"), why=why
    )


def loss(task: str, model: ModelSpec) -> Decision[str] | None:
    """Whether the logits are ever held whole. No decision outside of language modelling."""
    if task not in ("sft", "pt"):
        return None
    why = (
        f"every framework has it; a fused one (liger-kernel) would never hold the {model.vocab:,} logits of each token"
    )
    return Decision(
        name="loss", value="full_logits", rests_on=("task", "model"), source=law("machine").source("loss"), why=why
    )


def seed() -> Decision[int]:
    return Decision(
        name="seed",
        value=law("machine").get("seed.value"),
        source=law("machine").source("seed"),
        why="fixed so that the run can be repeated; a claim needs several",
    )


def sequence_length(model: ModelSpec, task: str, data: DatasetProfile | None, asked: int | None) -> Decision[int]:
    """Long enough for 99 % of the examples, within the model's positions."""
    table = law("machine").get("length")
    limit = None if model.rope_scaling else model.max_positions
    if asked is not None:
        if limit is not None and asked > limit:
            raise PapertrainError(
                f"sequence length {asked:,} is longer than the {limit:,} positions of {model.name}; use --seq-len {limit} or a model with rope scaling",
                code="too-long", ask=[f"--seq-len {limit}"],
            )  # fmt: skip
        return Decision(
            name="sequence_length",
            value=asked,
            unit="tokens",
            why=f"asked for{cut_share(data, asked)}",
            source=Source(kind="user", ref="--seq-len"),
            rests_on=("data",),
        )
    short = task in ("classification", "image")
    default = table["encoder_default"] if short else table["default"]
    if limit is not None:
        default = min(default, limit)
    if task == "image" and (patches := PATCHES.search(model.name)):
        side = int(patches[2]) // int(patches[1])
        return Decision(
            name="sequence_length", value=side * side + 1, unit="tokens", source=law("machine").source("length"), rests_on=("model",),
            why=f"{side} × {side} patches of an image of {patches[2]} pixels, and the class token",
        )  # fmt: skip
    most = limit or 10**9
    if data is None or data.lengths is None or task == "pt":
        which = (
            "the usual block for continued pretraining"
            if task == "pt"
            else "no token lengths are known, so the usual default"
        )
        return Decision(name="sequence_length", value=default, unit="tokens", source=law("machine").source("length"), rests_on=("model",), why=f"{which}, within {limit or 'no known limit of'} positions")  # fmt: skip
    step = table["multiple"]
    p99 = data.lengths.p99
    known = f"99 % of the examples have at most {p99:,} tokens"
    if not data.exact and data.tokens and data.tokens_high and data.tokens_high > data.tokens:
        p99 = math.ceil(p99 * data.tokens_high / data.tokens)
        known = f"99 % of the examples have at most {p99:,} tokens (the upper end: this model's tokenizer is not here)"
    wanted = -(-p99 // step) * step
    value = max(min(wanted, most), min(step, most))
    why = f"{known}{cut_share(data, value)}"
    if wanted > most:
        why = f"{known}, but the model has {most:,} positions{cut_share(data, value)}"
    return Decision(
        name="sequence_length",
        value=value,
        unit="tokens",
        source=law("machine").source("length"),
        rests_on=("data", "model"),
        why=why,
    )


def cut_share(data: DatasetProfile | None, cutoff: int) -> str:
    """`; the longest has 3,100 and is cut` where the lengths are known."""
    if data is None or data.lengths is None:
        return ""
    longest = f"{data.lengths.longest:,}" + ("" if data.exact else " by the middle of the interval")
    return (
        f"; the longest has {longest} and is cut"
        if data.lengths.longest > cutoff
        else f"; the longest has {longest}, so nothing is cut"
    )


def packing(task: str, data: DatasetProfile | None, length: int) -> Decision[bool]:
    source = law("schedule").source("packing")
    if task == "pt":
        return Decision(
            name="packing",
            value=True,
            rests_on=("task",),
            source=source,
            why="plain text has no examples to keep apart: it is cut into full blocks",
        )
    why = "off: each example keeps its own sequence, so that steps and batches count examples"
    if data is not None and data.lengths is not None and task == "sft" and data.lengths.mean > 0:
        gain = length / max(1.0, min(data.lengths.mean, length))
        if gain >= 2:
            why += f"; on would put about {gain:.1f} examples into {length:,} tokens and cut the steps as much (changes the experiment)"
    return Decision(name="packing", value=False, rests_on=("task", "data", "sequence_length"), source=source, why=why)


def template(model: ModelSpec, task: str) -> Decision[str | None] | None:
    """LLaMA-Factory's own name for the model's chat format; None for a base model. No decision outside of chat tasks."""
    if task not in CHAT_TASKS or model.kind not in ("causal", "multimodal"):
        return None
    from papertrain.facts.frameworks.load import framework, registered

    factory = framework("llamafactory")
    source = Source(kind="code", ref=f"LLaMA-Factory {factory.version}, extras/constants.py ({factory.made_by})")
    found, entry = registered(model.name)
    if found:
        why = f"LLaMA-Factory's registry: {entry}"
    elif entry:
        why = f"{entry} is a base model without a chat format: choose one (`default`, or its family's) and keep it for inference"
    elif (seen := in_tokenizer(model.local_path)) is not None:
        found, marker = seen
        why = f"its own chat template speaks in {marker}, as LLaMA-Factory's {found} does; check one row with `papertrain check DATA --show 1`"
    else:
        why = f"{model.name} is not in LLaMA-Factory's registry: choose one with --set template=NAME"
    return Decision(name="template", value=found, rests_on=("model",), source=source, why=why)


# What a chat template writes → LLaMA-Factory's template of that format (its data/template.py); the first that is found.
MARKERS = (
    ("You are Qwen", "qwen"), ("SmolLM", "smollm2"), ("<|im_start|>", "chatml"), ("<|start_header_id|>", "llama3"), ("<start_of_turn>", "gemma"),
    ("<|end|>", "phi"), ("<<SYS>>", "llama2"), ("[INST]", "mistral"),
)  # fmt: skip


def in_tokenizer(folder: str | None) -> tuple[str, str] | None:
    """(template, the words that say so) by the chat template that a local model brings along."""
    from papertrain.core.files import read_text

    for name in ("chat_template.jinja", "tokenizer_config.json") if folder else ():
        try:
            text = read_text(Path(str(folder)) / name, limit=20 * 2**20)
        except PapertrainError:
            continue
        if name.endswith(".json"):
            found = re.search(r'"chat_template"\s*:\s*("(?:[^"\\]|\\.)*"|\[.*?\])', text, re.S)
            text = found[1] if found else ""
        for marker, template in MARKERS:
            if marker in text:
                return template, marker
    return None


def is_adapter(method: str) -> bool:
    return method in ADAPTERS


def check_method(model: ModelSpec, compute: Compute, method: str) -> None:
    if method == "qlora" and compute.gpu.vendor not in ("nvidia", "amd"):
        raise PapertrainError(
            f"qlora needs a CUDA or ROCm card (bitsandbytes 4-bit kernels); on {compute.gpu.label} use --method lora",
            code="no-qlora",
        )
    if model.quantized is None:
        return
    if model.quantized == "other":
        raise PapertrainError(f"the weights of {model.name} are stored quantised in a way that is not known here", code="quantised", ask=["the model before it was quantised"])  # fmt: skip
    if method not in ADAPTERS or method == "qlora":
        why = "would quantise them once more" if method == "qlora" else "cannot train them"
        raise PapertrainError(f"the weights of {model.name} are stored quantised ({model.quantized}): {method} {why}", code="quantised",
                              ask=["--method lora, which trains adapters on them", "or the model before it was quantised"])  # fmt: skip
