"""From live tensors to what the allocator holds and the driver shows, and how wide to say it.

The coefficients are fitted (bench/memory.py, one group left out at a time); they describe a cache that depends on
history and room, so a closed form cannot be exact here.
"""

from __future__ import annotations

from papertrain.core.training import Memory
from papertrain.core.values import Value
from papertrain.plan.memory_dtypes import Dtypes, might_prepare
from papertrain.plan.memory_layer import Layer
from papertrain.plan.memory_loss import Loss
from papertrain.plan.memory_state import State, old_stack
from papertrain.plan.setup import Fits, Setup

GIB = 2.0**30


class Cache(Value, frozen=True, kw_only=True):
    """Share of freed buffers that stay in the allocator's cache, and what the driver adds."""

    logits: float = 0.35
    fused_logits: float = 0.79
    mlp: float = 0.19
    fsdp_layer: float = 0.36
    step: float = 0.42
    step_fsdp: float = 0.77
    rounding: float = 0.06
    several: float = 0.45 * GIB
    zero3: float = 1.20
    """Of the gathered parameters and buckets of DeepSpeed's stage 3, once more."""
    context: float = 0.73 * GIB
    context_several: float = 1.05 * GIB


CACHE = Cache()
OLD_CONTEXT = 1.31 * GIB
"""What a V100 showed with only its kernels loaded (Hugging Face's BERT-large page); CUDA loads them lazily since 11.7."""


class Ranges(Value, frozen=True, kw_only=True):
    allocated_down: float
    allocated_up: float
    reserved_down: float
    reserved_up: float
    device_down: float
    device_up: float
    basis: tuple[str, ...]


def ranges(s: Setup, d: Dtypes) -> Ranges:
    p = d.profile
    up, down = p.widen_up + might_prepare(s, d), p.widen_down
    if not s.model.exact:
        up, down = up + 0.45, down + 0.35  # vocabulary, heads and ratio of the MLP are guesses
    basis: tuple[str, ...] = (f"profile {p.id}: {p.label}",)
    if s.model.kind in ("encoder-decoder", "multimodal"):
        up, down = up + 0.15, down + 0.10
        basis += (f"{s.model.kind}: source and target are counted as equally long",)
    return Ranges(
        allocated_down=0.06 + down, allocated_up=0.07 + up, reserved_down=0.12 + down, reserved_up=0.13 + up,
        device_down=0.14 + down, device_up=0.18 + up, basis=basis,
    )  # fmt: skip


PROCESS = 0.55e9
"""A processor has no device context; the process itself stands in its place: 0.39 GB resident after the imports of the
custom script (torch 2.13, transformers 5.24), and what a real run of MiniLM had beyond its tensors (0.91 GB in all)."""


def meters(
    g: Ranges,
    s: Setup,
    d: Dtypes,
    st: State,
    allocated: float,
    at_loss: float,
    backward: float,
    step: float,
    tokens: float,
    lay: Layer,
    lo: Loss,
    live: float,
    extra: float,
    cache: Cache = CACHE,
) -> tuple[float, float, float]:
    """Reserved bytes, device bytes, and the context among them."""
    several = s.n_gpus > 1
    fsdp = d.engine == "fsdp"
    mlp = lay.mlp * tokens
    a = at_loss + (cache.fused_logits if lo.fused_cache else cache.logits) * lo.cache * tokens + 4 * cache.mlp * mlp
    b = backward + 2 * cache.mlp * mlp + (cache.fsdp_layer * (live + extra) if fsdp else 0.0)
    x = st.step_temporary if not d.adapters else 0.0
    reserved = max(a, b, step) + (cache.step + (cache.step_fsdp if fsdp else 0.0)) * x
    if s.sharding == "zero3":
        reserved += cache.zero3 * st.gathered
    reserved = reserved * (1 + cache.rounding) + (cache.several if several else 0.0)
    context = (OLD_CONTEXT if old_stack(s) else cache.context) + (cache.context_several if several else 0.0)
    if s.gpu is not None and s.gpu.id == "cpu":
        context = PROCESS
    room = None if s.gpu is None else 0.97 * s.gpu.memory_bytes
    device = reserved + context + st.paged
    if room is not None and device > room:
        if allocated + context > room:
            over = allocated * (1 + cache.rounding)
            return over, max(over + context, least(s, allocated)), context
        device = (allocated + GIB + room) / 2 if allocated + GIB < room else room
        reserved = min(reserved, device - context / 2)
    reserved = max(reserved, allocated)
    device = max(device, reserved, least(s, allocated))
    return reserved, device, context


def least(s: Setup, live: float) -> float:
    """Bytes of the card that the run cannot do without. FSDP1 gathers and frees its shards all the time on several
    streams: no published run of it took less of its card than 1.17 times what was live."""
    return live * (1.17 if s.sharding == "fsdp1" else 1.0)


def verdict(room: int, memory: Memory) -> Fits:
    live = (memory.allocated_bytes.value or 0.0) + memory.components.get("context", 0.0)
    return verdict_of(room, max(live, memory.device_bytes.low or 0.0), memory.device_bytes.high or 0.0)


def verdict_of(room: float, lowest: float, highest: float) -> Fits:
    """`no`: what must be there is more than the card has (a driver keeps about 1 %, and no run fills the last 1 %).
    `yes`: even the high end of the range is on the card."""
    if lowest > 0.98 * room:
        return "no"
    return "yes" if highest <= room else "tight"
