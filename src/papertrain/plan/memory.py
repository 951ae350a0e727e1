"""Peak memory of one run, by component and phase: `predict(setup)`, `fits(memory)`.

The physics is in memory_dtypes (who holds what), memory_state (what is always there), memory_layer (what a layer
keeps) and memory_loss (logits); here they meet in the phases of a step, whose largest is the peak.
"""

from __future__ import annotations

from typing import Any

import msgspec

from papertrain.core.training import Memory
from papertrain.core.values import Estimate, Value
from papertrain.plan.host import disk_bytes, host_bytes
from papertrain.plan.memory_dtypes import Dtypes, resolve
from papertrain.plan.memory_layer import Layer, layer
from papertrain.plan.memory_loss import Loss, loss
from papertrain.plan.memory_range import CACHE, Cache, Ranges, least, meters, ranges, verdict
from papertrain.plan.memory_state import State, old_stack, state
from papertrain.plan.setup import Fits, Setup

SHORT = 512
"""Below this length unsloth keeps layer inputs on the card (apply_unsloth_gradient_checkpointing)."""


class Recipe(Value, frozen=True, kw_only=True):
    """Everything about a setup that does not change with batch and length."""

    setup: Setup
    dtypes: Dtypes
    state: State
    layer: Layer
    loss: Loss
    ranges: Ranges


def recipe(s: Setup) -> Recipe:
    d = resolve(s)
    st = state(s, d)
    return Recipe(setup=s, dtypes=d, state=st, layer=layer(s, d), loss=loss(s, d, st.weights), ranges=ranges(s, d))


class Peak(Value, frozen=True, kw_only=True):
    """One evaluation: the phases' allocated bytes, and the parts of the largest."""

    phases: dict[str, float]
    components: dict[str, float]
    phase: str
    allocated: float
    reserved: float
    device: float


def peak(r: Recipe, batch: int, length: int, cache: Cache = CACHE) -> Peak:
    """The phases of one step at this micro-batch and length."""
    s, d, st, lay, lo = r.setup, r.dtypes, r.state, r.layer, r.loss
    tokens = batch * s.sequences_per_example * length / max(1, s.context_parallel)
    span = length
    layers = s.model.layers
    h = float(s.model.hidden)
    checkpointing = s.gradient_checkpointing or d.profile.checkpointing
    boundary = d.stream * h * tokens
    per_layer = (lay.kept + lay.kept_per_position * span) * tokens
    tp = max(1, s.tensor_parallel)
    if checkpointing == "full":
        kept = layers * boundary
        live = per_layer / tp
        if s.offload == "activations" or (d.profile.inputs_on_device and length >= SHORT):
            kept = min(layers, max(2, d.profile.inputs_on_device)) * boundary
    elif checkpointing == "selective":
        kept = layers * lay.selective * tokens / tp
        live = max(0.0, per_layer - lay.selective * tokens) / tp
    else:
        kept = layers * per_layer / tp
        live = 0.0
        if s.offload == "activations":
            kept = 2 * per_layer / tp
    extra = (lay.extra + lay.extra_per_position * span) * tokens / tp
    extra_last = (lay.extra_last + lay.extra_per_position * span) * tokens / tp
    always = st.weights + st.optimizer
    accumulating = (
        st.gradients
        if (s.gradient_accumulation_steps or 1) > 1 or (d.engine == "deepspeed" and not d.adapters) or old_stack(s)
        else 0.0
    )
    final = lo.hidden * tokens + d.stream * h * tokens
    logits = lo.logits(tokens)
    full = not d.adapters
    first_gradients = st.gathered_gradients if d.engine == "fsdp" and full else 0.0
    if full and d.engine == "torch" and not accumulating:
        first_gradients = st.layer_gradients + st.root_gradients
    tripled = (
        2 * kept if s.sharding == "fsdp1" and d.adapters and checkpointing == "full" and d.profile.reentrant else 0.0
    )
    # the gradient of the head's 16-bit copy, before it is cast to the fp32 of the weight
    head_gradient = 2.0 * h * float(s.model.vocab) if st.autocast_copy and full and lo.per_token else 0.0
    at_loss = always + st.autocast_copy + kept + final + logits + st.root + max(accumulating, head_gradient)
    first = (
        always
        + st.autocast_copy
        + kept
        + live
        + extra
        + st.dequantised
        + st.gathered
        + max(first_gradients, accumulating)
    )
    left = boundary + (live if checkpointing != "none" else per_layer / tp)
    last = always + st.gradients + left + extra_last + st.dequantised + st.gathered_last + st.late_gradients + tripled
    step = st.weights + st.optimizer + st.gradients + st.step_temporary
    phases = {
        "load": st.weights,
        "forward": at_loss,
        "backward": max(first, last),
        "optimizer_step": step,
        "save": always,
    }
    phase = max(phases, key=phases.__getitem__)
    parts = {
        "weights": st.weights,
        "gradients": 0.0,
        "optimizer": st.optimizer,
        "activations": 0.0,
        "logits": 0.0,
        "temporary": 0.0,
    }
    if phase == "forward":
        parts |= {
            "gradients": max(accumulating, head_gradient),
            "activations": kept + final,
            "logits": logits,
            "temporary": st.root + st.autocast_copy,
        }
    elif phase == "backward" and first >= last:
        parts |= {"gradients": max(first_gradients, accumulating), "activations": kept + live,
                  "temporary": extra + st.dequantised + st.gathered + st.autocast_copy}  # fmt: skip
    elif phase == "backward":
        grads = st.gradients + st.late_gradients
        parts |= {
            "gradients": grads,
            "activations": left + tripled,
            "temporary": extra_last + st.dequantised + st.gathered_last,
        }
    else:
        parts |= {"gradients": st.gradients, "temporary": st.step_temporary}
    allocated = phases[phase]
    reserved, device, context = meters(
        r.ranges, s, d, st, allocated, at_loss, max(first, last), step, tokens, lay, lo, live, extra, cache
    )
    parts["context"] = context
    return Peak(phases=phases, components=parts, phase=phase, allocated=allocated, reserved=reserved, device=device)


UNSAID = {
    "multimodal": "image and video tokens and the vision tower's activations are not predicted yet",
    "speech": "audio frames are not predicted yet",
}
"""Kinds of model whose memory and time are unknown: a figure that leaves out a part would be wrong."""

_recipes: dict[Any, Recipe] = {}


def cached(s: Setup) -> Recipe:
    """The recipe of a setup; batch and length are not part of the key."""
    key = (id(s.model), id(s.gpu), s.n_gpus, s.n_nodes, s.framework, s.method, s.quantization, s.weights_dtype, s.trainable_dtype,
           s.autocast, s.upcast, s.lora_rank, s.lora_targets, s.lora_dropout, s.modules_to_save, s.optimizer, s.optimizer_in_backward,
           s.gradient_checkpointing, s.attention, s.loss, s.compiled, s.sharding, s.offload, s.context_parallel, s.tensor_parallel,
           s.gradient_accumulation_steps, s.trainable_parameters, s.reference_copy, s.sequences_per_example)  # fmt: skip
    found = _recipes.get(key)
    if found is None:
        if len(_recipes) > 20_000:
            _recipes.clear()
        found = _recipes[key] = recipe(s)
    return found


def predict(s: Setup) -> Memory:
    """Peak bytes per device with their 90 % ranges, and what the host and the disk need."""
    r = cached(s)
    p = peak(r, s.micro_batch_size, s.sequence_length)
    g = r.ranges

    def around(value: float, down: float, up: float) -> Estimate:
        return Estimate(value=value, low=value * (1 - down), high=value * (1 + up), unit="bytes")

    device = around(p.device, g.device_down, g.device_up)
    low = max(device.low or 0.0, least(s, p.allocated))
    return Memory(
        allocated_bytes=around(p.allocated, g.allocated_down, g.allocated_up),
        reserved_bytes=around(p.reserved, g.reserved_down, g.reserved_up),
        device_bytes=msgspec.structs.replace(device, low=low),
        capacity_bytes=None if s.gpu is None else s.gpu.memory_bytes,
        components=p.components,
        peak_phase=p.phase,
        host_bytes=host_bytes(s, r.state),
        disk_bytes=disk_bytes(s, r.state),
        phases=p.phases,
        basis=g.basis,
    )


def fits(memory: Memory) -> Fits:
    """`yes`: the high end of the range is on the card; `no`: even what must be live is not; `tight` between."""
    room, live = memory.capacity_bytes, memory.allocated_bytes.value
    if room is None or live is None:
        return "unknown"
    return verdict(room, memory)
