"""GPU recipes: the planner's own answer for three model sizes on every card on record; and the published recipes."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from papertrain.core.models import Compute, DatasetProfile, Gpu, ModelSpec
from papertrain.core.training import TrainingPlan
from papertrain.core.units import show_number
from papertrain.core.values import Record, Value

SIZES = (("7B", "meta-llama/Llama-2-7b-hf"), ("13B", "meta-llama/Llama-2-13b-hf"), ("70B", "meta-llama/Llama-2-70b-hf"))
FIRST = ("a100-sxm-80gb", "a800-sxm-80gb", "rtx-3090", "rtx-4090", "ascend-910b1", "ascend-910b3")
CARDS = {"7B": 1, "13B": 1, "70B": 8}
LENGTH = 2048
EXAMPLES = 20_000
HOST = 1_000_000_000_000
OFFLOAD = {"none": " ", "optimizer": "o", "params+optimizer": "p"}


class Recipe(Record, frozen=True, kw_only=True):
    """One row: what the planner chose, and what it predicts. Sizes in bytes per card."""

    size: str
    model: str
    gpu: str
    cards: int
    method: str
    fits: str
    micro_batch_size: int
    gradient_accumulation_steps: int
    global_batch_size: int
    learning_rate: float
    lora_rank: int | None
    lora_alpha: int | None
    precision: str
    gradient_checkpointing: str
    zero_stage: int
    offload: str
    device_bytes: float | None
    device_low: float | None
    device_high: float | None
    tokens_per_second_per_gpu: float | None
    speed_low: float | None
    speed_high: float | None
    instead: str


class Given(Value, frozen=True, kw_only=True):
    size: str
    model: ModelSpec


def rows() -> list[Recipe]:
    """LoRA SFT of each size on one node of each card: computed, never typed."""
    from papertrain.facts.load import gpu, gpu_ids
    from papertrain.facts.models import find_model

    cards = [*(g for g in FIRST if g in gpu_ids()), *(g for g in gpu_ids() if g not in FIRST)]
    models = [Given(size=size, model=find_model(name)) for size, name in SIZES]
    return [row(m, node(gpu(id), m.size)) for id in cards for m in models]


def node(card: Gpu, size: str) -> Compute:
    """One card for 7 B and 13 B, a node of eight for 70 B; an Apple machine is one device."""
    return Compute(gpu=card, gpus_per_node=1 if card.vendor == "apple" else CARDS[size], host_memory_bytes=HOST)


def row(m: Given, compute: Compute) -> Recipe:
    from papertrain.plan.derive import derive
    from papertrain.plan.derive_question import Question

    data = DatasetProfile(
        path="20,000 examples of 512 tokens",
        sha256="",
        format="alpaca",
        rows=EXAMPLES,
        examples=EXAMPLES,
        tokens=EXAMPLES * 512,
        trainable_tokens=EXAMPLES * 200,
        exact=True,
    )
    question = Question(model=m.model, compute=compute, dataset=data, task="sft", method="lora", seq_len=LENGTH)
    p = derive(question, ways=False)
    return recipe(m.size, p)


def recipe(size: str, p: TrainingPlan) -> Recipe:
    e, s = p.memory, p.duration
    way = next((a.what for a in p.alternatives if a.fits in ("yes", "tight")), "")
    return Recipe(
        size=size, model=p.model.name, gpu=p.compute.gpu.id, cards=p.compute.gpus, method=p.method.value, fits=p.fits,
        micro_batch_size=p.micro_batch_size.value, gradient_accumulation_steps=p.gradient_accumulation_steps.value,
        global_batch_size=p.global_batch_size.value, learning_rate=p.learning_rate.value,
        lora_rank=None if p.lora_rank is None else p.lora_rank.value, lora_alpha=None if p.lora_alpha is None else p.lora_alpha.value,
        precision=p.precision.value, gradient_checkpointing=p.gradient_checkpointing.value, zero_stage=p.zero_stage.value,
        offload=p.offload.value,
        device_bytes=None if e is None else e.device_bytes.value, device_low=None if e is None else e.device_bytes.low,
        device_high=None if e is None else e.device_bytes.high,
        tokens_per_second_per_gpu=None if s is None else s.tokens_per_second_per_gpu.value,
        speed_low=None if s is None else s.tokens_per_second_per_gpu.low, speed_high=None if s is None else s.tokens_per_second_per_gpu.high,
        instead=way if p.fits in ("no", "tight") else "",
    )  # fmt: skip


def table(found: list[Recipe]) -> str:
    """Aligned columns, one line a recipe, at most 100 wide."""
    head = f"  {'card':<22} {'model':<5} {'n':>2} {'fits':<5} {'b×acc':>6} {'lr':>7} {'r/α':>6} {'prec':<5} {'ckpt':<4} {'Z':<2} {'GiB (90 %)':>16} {'tok/s (range)':>18}"
    lines = ["", head]
    for r in found:
        memory = (
            "unknown"
            if r.device_bytes is None
            else f"{r.device_bytes / 2**30:.0f} ({(r.device_low or 0) / 2**30:.0f}-{(r.device_high or 0) / 2**30:.0f})"
        )
        speed = (
            "unknown"
            if r.tokens_per_second_per_gpu is None
            else f"{r.tokens_per_second_per_gpu:,.0f} ({r.speed_low or 0:,.0f}-{r.speed_high or 0:,.0f})"
        )
        rank = "-" if r.lora_rank is None else f"{r.lora_rank}/{r.lora_alpha}"
        lines.append(
            f"  {r.gpu:<22} {r.size:<5} {r.cards:>2} {r.fits:<5} {f'{r.micro_batch_size}×{r.gradient_accumulation_steps}':>6} "
            f"{show_number(r.learning_rate):>7} {rank:>6} {r.precision:<5} {r.gradient_checkpointing:<4} {r.zero_stage}{OFFLOAD.get(r.offload, '+')} {memory:>16} {speed:>18}"
        )
        if r.instead:
            lines.append(f"  {'':<22} → {r.instead}")
    return "\n".join(lines) + "\n"


@lru_cache
def published() -> tuple[dict[str, Any], ...]:
    """The published fine-tuning configurations that the package carries, each with its source."""
    import json

    from papertrain.facts import load

    file = Path(load.FACTS) / "recipes" / "published.jsonl"
    return tuple(json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip())
