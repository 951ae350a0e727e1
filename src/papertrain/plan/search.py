"""Every way to execute one experiment on the given cards, and the cheapest one that fits.

A `Draft` is the experiment (what is trained, on which lengths, with which batch); a `Layout` is how it is executed.
`place` chooses among layouts only: nothing here changes the experiment by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import structs

from papertrain.core.models import Compute, ModelSpec
from papertrain.core.training import Duration, Memory
from papertrain.core.values import Estimate, Value
from papertrain.facts.laws import law
from papertrain.plan.memory import UNSAID, fits, predict
from papertrain.plan.rulesets import ADAPTERS, PAIRED, REINFORCED
from papertrain.plan.setup import Setup
from papertrain.plan.time import SPREAD, duration

OFFLOADS = ("none", "optimizer", "params+optimizer")
MOST_PER_CARD = 64


class Draft(Value, frozen=True, kw_only=True):
    """The experiment, as far as memory and speed depend on it."""

    model: ModelSpec
    compute: Compute
    task: str
    method: str
    sequence_length: int
    global_batch: int
    precision: str
    optimizer: str
    attention: str = "sdpa"
    loss: str | None = None
    lora_rank: int | None = None
    lora_targets: tuple[str, ...] | str | None = None
    lora_dropout: float | None = None
    total_steps: int | None = None
    memory_shift: float = 1.0
    time_shift: float = 1.0


class Layout(Value, frozen=True, kw_only=True):
    """How it is executed: no field changes what is learned."""

    micro_batch_size: int
    gradient_accumulation_steps: int
    zero_stage: int
    offload: str
    gradient_checkpointing: str


class Placed(Value, frozen=True, kw_only=True):
    """A layout with what it needs. `fits`: yes, tight, no, unknown; `roomy`: yes, and the margin stays free."""

    layout: Layout
    memory: Memory
    fits: str
    roomy: bool
    step_seconds: float | None = None

    @property
    def device_bytes(self) -> float:
        return self.memory.device_bytes.value or 0.0


def setup_of(d: Draft, x: Layout) -> Setup:
    """The words in which memory and speed are predicted."""
    c = d.compute
    adapters = d.method in ADAPTERS
    weights, trainable, autocast = {
        "bf16": ("bf16", None, "bf16"),
        "fp16": ("fp16", None, "fp16"),
        "pure_bf16": ("bf16", "bf16", "none"),
        "fp32": ("fp32", "fp32", "none"),
    }[d.precision]
    classifier = d.task in ("classification", "image")
    if classifier and not adapters and d.precision != "pure_bf16":
        # transformers loads an encoder in fp32 and runs it under autocast.
        weights, trainable = "fp32", "fp32"
    sharded = x.zero_stage > 0
    offloaded = "optimizer" in x.offload
    return Setup(
        model=d.model, gpu=c.gpu, n_gpus=c.gpus, n_nodes=c.nodes, framework="hf-trainer" if classifier else "llamafactory",
        method="lora" if d.method == "rslora" else d.method, quantization=d.model.quantized or ("nf4-double" if d.method == "qlora" else "none"),  # type: ignore[arg-type]
        weights_dtype=weights, trainable_dtype=trainable, autocast=autocast, lora_rank=d.lora_rank, lora_targets=d.lora_targets, lora_dropout=d.lora_dropout,
        optimizer="cpu_adamw" if offloaded and d.optimizer.startswith("adamw") else d.optimizer,
        micro_batch_size=x.micro_batch_size, sequence_length=d.sequence_length,
        gradient_checkpointing=x.gradient_checkpointing, attention=d.attention, loss=d.loss,  # type: ignore[arg-type]
        sharding=f"zero{x.zero_stage}" if sharded else "ddp" if c.gpus > 1 else "none", offload=x.offload,  # type: ignore[arg-type]
        gradient_accumulation_steps=x.gradient_accumulation_steps,
        trainable_parameters=trained_layers(d.model) if d.method == "freeze" else None,
        reference_copy=d.task in ("dpo", "kto", "ppo") and not adapters, sequences_per_example=2 if d.task in PAIRED else 1,
        link_bytes_per_second=c.gpu.link_bytes_per_second, network_bytes_per_second=c.network_bytes_per_second,
    )  # fmt: skip


def trained_layers(m: ModelSpec, layers: int = 2) -> int:
    """LLaMA-Factory's freeze tuning trains the last two layers (freeze_trainable_layers)."""
    body = sum(x.parameters for x in m.linears if x.place not in ("head", "other"))
    return int(body * min(1.0, layers / max(1, m.layers)))


def evaluate(d: Draft, x: Layout) -> Placed:
    """Memory of one layout, and whether it fits."""
    memory = shifted(predict(setup_of(d, x)), d.memory_shift)
    if why := unpredicted(d):
        return Placed(layout=x, memory=unknown_memory(memory, why), fits="unknown", roomy=False)
    verdict: str = fits(memory)
    if verdict in ("yes", "tight") and not host_holds(d.compute, memory, x.offload):
        verdict = "no" if d.compute.host_memory_bytes is not None else "unknown"
    margin = law("machine").get("margin.share")
    room = memory.capacity_bytes
    roomy = verdict == "yes" and room is not None and (memory.device_bytes.value or 0) <= (1 - margin) * room
    return Placed(layout=x, memory=memory, fits=verdict, roomy=roomy)


def timed(d: Draft, p: Placed) -> Placed:
    """The same with its seconds per optimizer step, where they can be said."""
    value = time_of(d, p.layout).step_seconds.value
    return structs.replace(p, step_seconds=value)


def time_of(d: Draft, x: Layout) -> Duration:
    found = duration(
        setup_of(d, x), total_steps=d.total_steps, gradient_accumulation_steps=x.gradient_accumulation_steps
    )
    if why := unpredicted(d):
        unknown = Estimate(value=None, unit="seconds", unknown=why, ask="launch --smoke measures it")
        return structs.replace(
            found,
            step_seconds=unknown,
            total_seconds=unknown,
            tokens_per_second_per_gpu=structs.replace(unknown, unit="tokens/s"),
        )
    if d.time_shift == 1.0:
        return found
    if d.compute.gpu.id == "cpu":
        found = measured_here(found)
    speed = scale(found.tokens_per_second_per_gpu, 1 / d.time_shift)
    return structs.replace(
        found,
        step_seconds=scale(found.step_seconds, d.time_shift),
        total_seconds=scale(found.total_seconds, d.time_shift),
        tokens_per_second_per_gpu=speed,
    )


def scale(e: Estimate, by: float) -> Estimate:
    def times(x: float | None) -> float | None:
        return None if x is None else x * by

    return structs.replace(e, value=times(e.value), low=times(e.low), high=times(e.high))


def measured_here(found: Duration) -> Duration:
    """A processor's rate is no longer guessed once a run of the user's was timed on it: the range is that of a card."""

    def near(e: Estimate) -> Estimate:
        if e.value is None:
            return e
        return structs.replace(e, low=e.value / SPREAD[0], high=e.value * SPREAD[1])

    return structs.replace(
        found, step_seconds=near(found.step_seconds), total_seconds=near(found.total_seconds),
        tokens_per_second_per_gpu=near(found.tokens_per_second_per_gpu), basis="the step time of a run of yours on this machine",
    )  # fmt: skip


def shifted(m: Memory, by: float) -> Memory:
    """The device's figures moved by what a real run of the user's showed."""
    if by == 1.0:
        return m
    return structs.replace(
        m, allocated_bytes=scale(m.allocated_bytes, by), reserved_bytes=scale(m.reserved_bytes, by), device_bytes=scale(m.device_bytes, by),
        components={k: v * by for k, v in m.components.items()},
    )  # fmt: skip


def unpredicted(d: Draft) -> str:
    """Why memory and time cannot be said, or an empty text: a figure that leaves out a part would be wrong."""
    if d.task in REINFORCED:
        return f"{d.task} holds more models and a generation cache than the actor, which alone could be predicted"
    if d.model.kind == "encoder-decoder" and d.task not in ("sft", "classification"):
        return f"how {d.task} feeds an encoder and a decoder is not known here"
    return UNSAID.get(d.model.kind, "")


def unknown_memory(m: Memory, why: str) -> Memory:
    unknown = Estimate(value=None, unit="bytes", unknown=why, ask="launch --smoke measures it")
    return structs.replace(m, allocated_bytes=unknown, reserved_bytes=unknown, device_bytes=unknown)


def host_holds(c: Compute, m: Memory, offload: str) -> bool:
    """Whether a node's memory holds what is moved there. Nothing moved: nothing to ask."""
    if offload in ("none", "activations"):
        return True
    have, need = c.host_memory_bytes, m.host_bytes.value
    return have is not None and need is not None and need <= have


def divisors(n: int) -> list[int]:
    """Largest first."""
    return [k for k in range(min(n, MOST_PER_CARD), 0, -1) if n % k == 0]


def stages(d: Draft) -> tuple[int, ...]:
    """ZeRO stages that mean something: 4-bit weights cannot be sharded by stage 3, one card needs none."""
    # DeepSpeed runs on CUDA, ROCm and Ascend; what other devices do to share a model is not predicted here.
    if d.compute.gpus == 1 or not shards(d.compute):
        return (0,)
    if packed(d):
        return (0, 1, 2)
    return (0, 1, 2, 3)


def packed(d: Draft) -> bool:
    """Whether the frozen base lies in packed integers, which stage 3 cannot share."""
    return d.method == "qlora" or d.model.quantized is not None


def shards(c: Compute) -> bool:
    return c.gpu.vendor in ("nvidia", "amd", "huawei")


def layouts(d: Draft, fixed: dict[str, Any]) -> Iterator[Layout]:
    """All combinations, cheapest way first; what the user fixed does not move."""
    per_card = max(1, d.global_batch // d.compute.gpus)
    micros = [fixed["micro_batch_size"]] if "micro_batch_size" in fixed else divisors(per_card)
    for offload in [fixed["offload"]] if "offload" in fixed else OFFLOADS:
        for stage in [fixed["zero_stage"]] if "zero_stage" in fixed else stages_with(d, offload):
            for checkpointing in (
                [fixed["gradient_checkpointing"]] if "gradient_checkpointing" in fixed else ("none", "full")
            ):
                for micro in micros:
                    accumulate = fixed.get("gradient_accumulation_steps", max(1, per_card // micro))
                    yield Layout(
                        micro_batch_size=micro,
                        gradient_accumulation_steps=accumulate,
                        zero_stage=stage,
                        offload=offload,
                        gradient_checkpointing=checkpointing,
                    )


def stages_with(d: Draft, offload: str) -> tuple[int, ...]:
    """Offload lives in ZeRO: optimizer states from stage 2, weights in stage 3; one card can use both."""
    if offload == "none" or offload == "activations":
        return stages(d)
    if not shards(d.compute):
        return ()
    if offload == "params+optimizer":
        return () if packed(d) else (3,)
    return (2,) if packed(d) else (2, 3)


def place(d: Draft, fixed: dict[str, Any]) -> Placed:
    """The cheapest layout with the margin free: least offload, lowest stage, then the fastest; of one kind, the largest
    micro-batch. Where none has the margin: the first that fits, is tight, or comes nearest."""
    backup: list[Placed] = []
    group: list[Placed] = []
    key: tuple[str, int] | None = None
    best: dict[str, Placed] = {}
    for x in layouts(d, fixed):
        if (x.offload, x.zero_stage) != key:
            if best:
                break
            key = (x.offload, x.zero_stage)
        if x.gradient_checkpointing in best:
            continue
        p = evaluate(d, x)
        if p.roomy:
            best[x.gradient_checkpointing] = p
        else:
            group.append(p)
    if best:
        return fastest(d, list(best.values()))
    backup = [p for p in group if p.fits == "yes"] or [p for p in group if p.fits == "tight"]
    if backup:
        first = min(
            backup,
            key=lambda p: (
                OFFLOADS.index(p.layout.offload) if p.layout.offload in OFFLOADS else 9,
                p.layout.zero_stage,
                p.device_bytes,
            ),
        )
        return timed(d, first)
    without = [p for p in group if host_holds(d.compute, p.memory, p.layout.offload)] or group
    if without[0].fits == "unknown" and without[0].memory.device_bytes.value is None:
        return timed(d, without[-1] if "micro_batch_size" not in fixed else without[0])
    # Nothing fits: the most careful of those that need least.
    return timed(
        d,
        min(
            without,
            key=lambda p: (
                round(p.device_bytes / 1e8),
                p.layout.gradient_checkpointing == "none",
                p.layout.micro_batch_size,
            ),
        ),
    )


def fastest(d: Draft, some: Sequence[Placed]) -> Placed:
    """By predicted seconds; where they cannot be said, no checkpointing before checkpointing."""
    seen = [timed(d, p) for p in some]
    return min(
        seen,
        key=lambda p: (
            p.step_seconds if p.step_seconds is not None else 0.0,
            p.layout.gradient_checkpointing != "none",
        ),
    )
