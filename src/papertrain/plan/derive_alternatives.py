"""Other ways to run: what each changes, whether that touches the experiment, whether it fits, what it costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import structs

from papertrain.core.models import Compute
from papertrain.core.training import Alternative, TrainingPlan
from papertrain.core.units import show_size
from papertrain.core.values import Effect
from papertrain.facts.load import gpu
from papertrain.plan.derive_refusals import flashes
from papertrain.plan.rulesets import ADAPTERS
from papertrain.plan.search import Draft, Layout, Placed, evaluate, layouts, packed, place, shards, stages_with, timed

NODE = 8
OTHER_CARD = "a100-sxm-80gb"
RANKS = {"yes": 0, "tight": 1, "unknown": 2, "no": 3}
WORDS = {
    "zero_stage": "ZeRO-{}", "offload": "offload {}", "gradient_checkpointing": "checkpointing {}", "micro_batch_size": "micro-batch {}",
    "attention": "{} attention", "loss": "loss {}", "gpus": "{} cards",
}  # fmt: skip
LAYOUT = ("zero_stage", "offload", "gradient_checkpointing", "micro_batch_size", "gradient_accumulation_steps")


def alternatives(d: Draft, fixed: Mapping[str, Any], chosen: Placed, most: int = 8) -> tuple[Alternative, ...]:
    """The nearest ways to make it fit, or where it fits: what is faster, smaller, or would learn more."""
    found = list(execution(d, dict(fixed), chosen)) + list(experiment(d, dict(fixed), chosen))
    seen: set[str] = set()
    unique = []
    for a in found:
        if (key := repr(sorted(a.changes.items(), key=str))) not in seen:
            seen.add(key)
            unique.append(a)
    if chosen.fits in ("no", "tight"):
        unique.sort(
            key=lambda a: (
                a.fits == "no",
                a.effect == "experiment",
                "gpus" in a.changes,
                RANKS.get(a.fits, 3),
                relative(a),
            )
        )
        return tuple(a for a in unique if a.fits != "no" and (chosen.fits == "no" or a.fits != "tight"))[:most]
    ways = [a for a in unique if a.fits == "yes" and (a.effect == "experiment" or worth(a, chosen))]
    ways.sort(key=lambda a: (a.effect == "experiment", "gpus" in a.changes, relative(a)))
    return tuple(ways[:most])


def relative(a: Alternative) -> float:
    return a.relative_time if a.relative_time is not None else float("inf")


def compared(p: Placed, d: Draft, chosen: Placed, now: Draft) -> float | None:
    """The time of one way over that of another for the same examples: a step of a larger batch sees more of them."""
    if p.step_seconds is None or not chosen.step_seconds:
        return None
    return p.step_seconds / sequences(p.layout, d) / (chosen.step_seconds / sequences(chosen.layout, now))


def sequences(x: Layout, d: Draft) -> int:
    """Of one optimizer step."""
    return x.micro_batch_size * x.gradient_accumulation_steps * d.compute.gpus


def worth(a: Alternative, chosen: Placed) -> bool:
    """An execution change is told where it is faster, or leaves much more room, or needs another set of cards."""
    faster = relative(a) < 0.95
    smaller = a.device_bytes is not None and a.device_bytes < 0.8 * chosen.device_bytes
    return faster or smaller or "gpus" in a.changes


def execution(d: Draft, fixed: dict[str, Any], chosen: Placed) -> Iterator[Alternative]:
    """Results stay comparable: stage, offload, checkpointing, micro-batch, kernels, number of cards."""
    free = {k: v for k, v in fixed.items() if k not in LAYOUT}
    now = chosen.layout
    for stage in stages_with(d, "none"):
        if stage != now.zero_stage:
            yield from found(d, chosen, {**fixed, "zero_stage": stage, "offload": "none"})
    other = "none" if now.gradient_checkpointing == "full" else "full"
    yield from found(d, chosen, {**fixed, "gradient_checkpointing": other})
    if now.micro_batch_size > 1:
        smaller = {**fixed, "micro_batch_size": now.micro_batch_size // 2 or 1}
        smaller.pop("gradient_accumulation_steps", None)
        yield from found(d, chosen, smaller)
    for offload in ("optimizer", "params+optimizer"):
        for stage in stages_with(d, offload):
            if chosen.fits != "yes" and offload != now.offload:
                yield from found(d, chosen, {**fixed, "offload": offload, "zero_stage": stage})
    if chosen.fits in ("no", "tight") and free != fixed:
        yield from found(d, chosen, free)
    if d.attention != "flash" and d.compute.gpu.vendor == "nvidia" and flashes(d.compute.gpu):
        yield from found(structs.replace(d, attention="flash"), chosen, fixed, {"attention": "flash"})
    if d.loss == "full_logits" and d.compute.gpu.id != "cpu":
        yield from found(structs.replace(d, loss="fused_linear_ce"), chosen, fixed, {"loss": "fused_linear_ce"})
    yield from cards(d, fixed, chosen)


def experiment(d: Draft, fixed: dict[str, Any], chosen: Placed) -> Iterator[Alternative]:
    """What is learned changes: method, length, number format, optimizer."""
    short = chosen.fits in ("no", "tight")
    if d.compute.gpu.id == "cpu":
        return
    if d.method == "full":
        yield from found(lora(d, "lora"), chosen, fixed, {"method": "lora"}, "experiment")
        if short and d.precision == "bf16":
            yield from found(
                structs.replace(d, precision="pure_bf16"), chosen, fixed, {"precision": "pure_bf16"}, "experiment"
            )
        if short:
            yield from found(
                structs.replace(d, optimizer="adamw_8bit"), chosen, fixed, {"optimizer": "adamw_8bit"}, "experiment"
            )
    if (
        not packed(d)
        and d.compute.gpu.vendor == "nvidia"
        and d.task not in ("classification", "image")
        and (short or d.compute.gpus == 1)
    ):
        free = {k: v for k, v in fixed.items() if k != "zero_stage" or v != 3}
        yield from found(lora(d, "qlora"), chosen, free, {"method": "qlora"}, "experiment")
    if d.method in ADAPTERS and d.model.quantized is None and not short and d.task not in ("classification", "image"):
        yield from found(
            structs.replace(d, method="full"),
            chosen,
            {k: v for k, v in fixed.items() if k not in LAYOUT},
            {"method": "full"},
            "experiment",
        )
    length = d.sequence_length
    while short and length > 512:
        length //= 2
        for way in found(
            structs.replace(d, sequence_length=length), chosen, fixed, {"sequence_length": length}, "experiment"
        ):
            yield way
            short = way.fits == "no" or (way.fits == "tight" and chosen.fits == "tight")


def lora(d: Draft, method: str) -> Draft:
    return structs.replace(d, method=method, lora_rank=d.lora_rank or 16, lora_targets=d.lora_targets or "all-linear")


def fixed_to(x: Layout) -> dict[str, Any]:
    return {name: getattr(x, name) for name in LAYOUT}


def found(
    d: Draft, chosen: Placed, fixed: dict[str, Any], more: dict[str, Any] | None = None, effect: Effect = "execution"
) -> Iterator[Alternative]:
    """The best layout under these constraints as an Alternative, if it differs from the plan."""
    if next(layouts(d, fixed), None) is None:
        return  # what the user fixed does not go with it
    p = timed(d, evaluate(d, whole(fixed))) if all(k in fixed for k in LAYOUT) else place(d, fixed)
    changes = {**(more or {}), **differences(chosen.layout, p.layout)}
    if changes:
        yield Alternative(
            what=words(changes, p, d),
            fits=p.fits,
            effect=effect,
            changes=changes,
            step_seconds=p.step_seconds,
            relative_time=compared(p, d, chosen, d),
            device_bytes=p.memory.device_bytes.value,
        )


def whole(fixed: dict[str, Any]) -> Layout:
    return Layout(**{name: fixed[name] for name in LAYOUT})


def differences(a: Layout, b: Layout) -> dict[str, Any]:
    return {name: getattr(b, name) for name in LAYOUT if getattr(a, name) != getattr(b, name)}


def retold(a: Alternative, plan: TrainingPlan, other: TrainingPlan) -> Alternative:
    """The alternative with the figures of the plan that it would be: batch and rank follow from the method too."""
    if RANKS[other.fits] > RANKS[a.fits] or other.memory is None:
        return a
    before, after = plan.values(), other.values()
    changes = {k: v for k, v in a.changes.items() if k not in LAYOUT} | {
        k: after[k] for k in LAYOUT if before[k] != after[k]
    }
    host = plan.compute.host_memory_bytes is not None
    return structs.replace(
        a,
        what=words_of(changes, other.offload.value, other.memory.host_bytes.value, host),
        fits=other.fits,
        changes=changes,
        step_seconds=other.duration.step_seconds.value if other.duration else a.step_seconds,
        relative_time=relative_of(other, plan),
        device_bytes=other.memory.device_bytes.value,
    )


def relative_of(other: TrainingPlan, plan: TrainingPlan) -> float | None:
    """The time of the whole run over the plan's; of the same examples where nobody knows how many there are."""
    a, b = other.duration, plan.duration
    if a is None or b is None or a.step_seconds.value is None or not b.step_seconds.value:
        return None
    if a.total_seconds.value is not None and b.total_seconds.value:
        return a.total_seconds.value / b.total_seconds.value
    return a.step_seconds.value / other.global_batch_size.value / (b.step_seconds.value / plan.global_batch_size.value)


def words(changes: Mapping[str, Any], p: Placed, d: Draft) -> str:
    return words_of(changes, p.layout.offload, p.memory.host_bytes.value, d.compute.host_memory_bytes is not None)


def words_of(changes: Mapping[str, Any], offload: str, host_bytes: float | None, host_known: bool) -> str:
    parts = [WORDS[k].format(v) for k, v in changes.items() if k in WORDS]
    parts = [
        f"{k.replace('_', ' ')} {v}"
        for k, v in changes.items()
        if k not in WORDS and k != "gradient_accumulation_steps"
    ] + parts
    parts = ["1 card" if x == "1 cards" else x for x in parts]
    text = ", ".join(parts) or f"accumulation {changes.get('gradient_accumulation_steps')}"
    if offload not in ("none", "activations"):
        text += f" ({show_size(host_bytes)} of host memory a node" + (")" if host_known else "; say --host-ram)")
    return text


def cards(d: Draft, fixed: dict[str, Any], chosen: Placed) -> Iterator[Alternative]:
    """The smallest set of the same cards that would do: fewer where it fits, more where it does not."""
    if chosen.fits == "yes" and chosen.layout.offload != "none":
        return
    # Fewer cards that must swap their states to the host are no saving.
    kept = {**fixed, "offload": "none"} if chosen.fits == "yes" else fixed
    n = smallest_cards(d, kept, fewer=chosen.fits == "yes")
    if n is None:
        if chosen.fits == "no" and d.compute.gpu.id != OTHER_CARD:
            yield from other_cards(d, fixed, chosen)
        return
    gpus, p = n
    divides = d.global_batch % gpus == 0
    changes = {"gpus": gpus, **differences(chosen.layout, p.layout)}
    yield Alternative(
        what=words({"gpus": gpus}, p, d), fits=p.fits, effect="execution" if divides else "experiment", changes=changes, step_seconds=p.step_seconds,
        relative_time=compared(p, structs.replace(d, compute=with_cards(d.compute, gpus)), chosen, d), device_bytes=p.memory.device_bytes.value,
    )  # fmt: skip


def other_cards(d: Draft, fixed: dict[str, Any], chosen: Placed) -> Iterator[Alternative]:
    """Where no number of these cards would do: the smallest set of the card that most clusters have."""
    here = structs.replace(d.compute, gpu=gpu(OTHER_CARD), gpus_per_node=1, nodes=1)
    precision = "bf16" if d.precision == "fp32" else d.precision
    n = smallest_cards(structs.replace(d, compute=here, precision=precision), {"offload": "none"}, fewer=False, least=1)
    if n is not None:
        gpus, p = n
        changes = {"gpu": OTHER_CARD, "gpus": gpus, **differences(chosen.layout, p.layout)}
        what = f"{gpus} × {here.gpu.label}"
        yield Alternative(
            what=what,
            fits=p.fits,
            effect="execution",
            changes=changes,
            step_seconds=p.step_seconds,
            relative_time=compared(p, structs.replace(d, compute=with_cards(d.compute, gpus)), chosen, d),
            device_bytes=p.memory.device_bytes.value,
        )


def smallest_cards(d: Draft, fixed: dict[str, Any], fewer: bool, least: int = 0) -> tuple[int, Placed] | None:
    now = least - 1 if least else d.compute.gpus
    if not shards(d.compute):
        return None
    free = {
        k: v for k, v in fixed.items() if k not in ("zero_stage", "micro_batch_size", "gradient_accumulation_steps")
    }
    for gpus in (1, 2, 4, 8, 16, 32, 64, 128):
        if (fewer and gpus >= now) or (not fewer and gpus <= now):
            continue
        batch = d.global_batch if d.global_batch % gpus == 0 else -(-d.global_batch // gpus) * gpus
        other = structs.replace(d, compute=with_cards(d.compute, gpus), global_batch=batch)
        p = place(other, free)
        if p.fits == "yes":
            return gpus, p
    return None


def with_cards(c: Compute, gpus: int) -> Compute:
    per_node = min(gpus, max(c.gpus_per_node, NODE))
    return structs.replace(c, gpus_per_node=per_node, nodes=max(1, gpus // per_node))
