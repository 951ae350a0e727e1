"""Why the experiment is executed as it is: micro-batch, accumulation, stage, offload, checkpointing, with the memory that
decided each."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from papertrain.core.units import show_bytes, show_size
from papertrain.core.values import Decision, Source
from papertrain.facts.laws import law
from papertrain.plan.derive_question import by_user
from papertrain.plan.search import Draft, Placed, divisors, evaluate

SAY_MORE = ("micro_batch_size", "gradient_accumulation_steps")


def execution_decisions(d: Draft, p: Placed, batch: int, sets: dict[str, Any]) -> dict[str, Any]:
    """Micro-batch, accumulation, stage, offload and checkpointing, with the memory that decided them."""
    x, c, machine = p.layout, d.compute, law("machine")
    room = show_bytes(p.memory.capacity_bytes)
    peak = show_bytes(p.memory.device_bytes.value)
    card = "device" if c.gpu.id == "cpu" else "card"
    state = f"{peak} of {room} a {card}" if p.memory.device_bytes.value is not None else "its memory is not predicted"
    rests = ("model", "compute", "method", "sequence_length", "global_batch_size")

    def made(
        name: str, value: Any, why: str, source: Source, unit: str = "1", on: tuple[str, ...] = rests
    ) -> Decision[Any]:
        if name in sets:
            return Decision(
                name=name,
                value=value,
                why=f"set by the user; {why if name in SAY_MORE else state}",
                source=by_user(name),
                unit=unit,
                rests_on=on,
            )
        return Decision(name=name, value=value, why=why, source=source, unit=unit, rests_on=on)

    return {
        "micro_batch_size": made("micro_batch_size", x.micro_batch_size, micro_reason(d, p, state), machine.source("margin"), "sequences per device"),
        "gradient_accumulation_steps": made(
            "gradient_accumulation_steps", x.gradient_accumulation_steps, f"global batch {batch} = {x.micro_batch_size} × {x.gradient_accumulation_steps} × {c.gpus} {card}{'s' if c.gpus > 1 else ''}",
            Source(kind="rule", ref="global batch = micro-batch × accumulation × devices"), "micro-batches", ("global_batch_size", "micro_batch_size", "compute"),
        ),
        "zero_stage": made("zero_stage", x.zero_stage, stage_reason(d, p, state), machine.source("zero")),
        "offload": made("offload", x.offload, offload_reason(d, p, state), machine.source("offload")),
        "gradient_checkpointing": made("gradient_checkpointing", x.gradient_checkpointing, checkpointing_reason(d, p, state), machine.source("checkpointing")),
    }  # fmt: skip


def micro_reason(d: Draft, p: Placed, state: str) -> str:
    x = p.layout
    per_card = max(1, d.global_batch // d.compute.gpus)
    larger = [m for m in divisors(per_card) if m > x.micro_batch_size]
    if not larger:
        return f"{state}; a device's share of the batch is {per_card}, so no larger one is of use"
    if p.fits == "no" and x.micro_batch_size == 1:
        return f"{state}; not even the smallest fits"
    next_up = larger[-1]
    other = evaluate(
        d, structs.replace(x, micro_batch_size=next_up, gradient_accumulation_steps=max(1, per_card // next_up))
    )
    need = other.memory.device_bytes.value
    margin = law("machine").get("margin.share")
    if need is None or p.memory.capacity_bytes is None:
        return f"{state}; a larger one cannot be judged"
    if need > p.memory.capacity_bytes:
        return f"{state}; {next_up} would need {show_bytes(need)} and does not fit"
    if need > (1 - margin) * p.memory.capacity_bytes:
        return (
            f"{state}; {next_up} would need {show_bytes(need)} and leave less than the margin of {100 * margin:.0f} %"
        )
    if other.fits != "yes":
        return f"{state}; {next_up} would need {show_bytes(need)}, and up to {show_bytes(other.memory.device_bytes.high)} within the 90 % range"
    return f"{state}; {next_up} would fit as well"


def limit(p: Placed) -> str:
    """Which limit a layout passes: the card, the margin, or the end of the 90 % range."""
    need, room, high = p.memory.device_bytes.value, p.memory.capacity_bytes, p.memory.device_bytes.high
    if need is None or room is None:
        return ""
    margin = law("machine").get("margin.share")
    if need > room:
        return f" of {show_bytes(room)}"
    if need > (1 - margin) * room:
        return f" of {show_bytes(room)}, less than the margin of {100 * margin:.0f} %"
    return f" of {show_bytes(room)}, up to {show_bytes(high)} within the 90 % range" if p.fits != "yes" else ""


def stage_reason(d: Draft, p: Placed, state: str) -> str:
    x = p.layout
    if d.compute.gpus == 1 and x.zero_stage == 0:
        return "one device: nothing to share"
    if p.fits == "no":
        return f"{state}: no stage without offload fits better" if x.zero_stage == 3 else f"{state}: does not fit"
    if x.zero_stage == 0:
        p2p = "" if d.compute.gpu.peer_to_peer else "; without peer-to-peer between these cards stage 3 would be slow"
        return f"{state}: the model fits on every card, so plain data parallelism{p2p}"
    if p.fits == "unknown":
        return f"{state}: stage {x.zero_stage} holds least on a card"
    return f"stage {x.zero_stage} is the lowest ZeRO stage that fits ({state})"


def offload_reason(d: Draft, p: Placed, state: str) -> str:
    host = d.compute.host_memory_bytes
    if p.layout.offload != "none":
        return (
            f"without offload the card is too small; {show_size(p.memory.host_bytes.value)} of host memory a node"
            + (f" of {show_size(host)}" if host is not None else ", which is not known: say --host-ram")
        )
    if p.fits in ("no", "tight") and host is None and d.compute.gpu.id != "cpu":
        return f"{state}; offload could help, but the host memory is not known: say --host-ram"
    return f"{state}: not needed" if p.fits == "yes" else state


def checkpointing_reason(d: Draft, p: Placed, state: str) -> str:
    if p.layout.gradient_checkpointing == "full":
        other = evaluate(d, structs.replace(p.layout, gradient_checkpointing="none"))
        need = other.memory.device_bytes.value
        if need is None:
            return "memory is not predicted, so the careful choice"
        needs = f"without gradient checkpointing micro-batch {p.layout.micro_batch_size} needs {show_bytes(need)}"
        return f"{needs}{limit(other)}; it costs about a third more work"
    return (
        f"{state} without gradient checkpointing: recomputing would cost 20-33 %"
        if p.fits == "yes"
        else f"{state} without gradient checkpointing"
    )
