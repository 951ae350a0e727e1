"""What the attention of one layer keeps for the backward pass, in bytes per token and per token and position."""

from __future__ import annotations

from papertrain.core.models import ModelSpec
from papertrain.plan.memory_dtypes import Dtypes
from papertrain.plan.memory_families import (
    COPIED_OUTPUT,
    DISENTANGLED,
    DROPOUT_IN_ATTENTION,
    DROPOUT_IN_RESIDUAL,
    EAGER_ONLY,
    LATENT,
    NATIVE_SOFTMAX,
    OUTPUTS,
    SCALED_LAYERS,
    SOFTCAPPED,
    TRANSFORMERS_STACKS,
)
from papertrain.plan.memory_widths import Widths, kept_by_inputs
from papertrain.plan.setup import Setup


def kept_by_attention(s: Setup, d: Dtypes, w: Widths) -> tuple[float, float]:
    """Inputs, q, k, v and the output; the second figure is per position attended to, where scores are written out."""
    if w.family in LATENT:
        return kept_by_latent(s, d, w)
    c, q, k, a = d.compute, w.queries, w.keys, w.heads
    kept = (
        c * w.hidden
        if w.fused_qkv_adapters
        else kept_by_inputs(d, w, w.hidden, 1 if w.fused_qkv else 3, w.attention_hit)
    )
    eager = written_out(s, d, w)
    repeated = d.profile.repeats_keys and k < q
    if eager:
        kept += c * 4 * q  # keys and values are repeated for every head
    else:
        kept += c * (4 * q if repeated else 2 * q + 2 * k) + 4 * a
    if w.fused_qkv and w.rotary and not repeated:
        kept += c * (q + k)  # v is a view that keeps q and k alive as they were before the rotation
    if w.fused_output:
        pass  # reads what the attention has kept already
    elif not w.full and w.output_hit and d.trained != d.stream and (not d.autocast or d.quantised is None):
        kept += (c if d.autocast else 4.0) * q  # raised to the adapter's dtype, and lowered again under autocast
    elif w.full and (d.profile.copies_output or (w.family in COPIED_OUTPUT and not eager)):
        kept += c * q
    if w.family in DISENTANGLED:
        kept += (
            c * 12 * q
        )  # its own copies of q, k, v and of the positions' projections, and the output laid out by head
    kept *= w.blocks
    if w.drops or w.family in DROPOUT_IN_RESIDUAL:
        kept += (1 + w.blocks) * w.hidden  # dropout masks of the residuals, a byte each
    if w.family in SCALED_LAYERS and w.full:
        kept += 2 * c * w.hidden
    return kept, (per_position(d, w) * w.blocks if eager else 0.0)


def written_out(s: Setup, d: Dtypes, w: Widths) -> bool:
    """Whether the scores lie in memory: asked for, or because the family has no other kernel in transformers."""
    if s.attention == "eager":
        return True
    return s.attention in (None, "sdpa") and w.family in EAGER_ONLY and d.profile.id in TRANSFORMERS_STACKS


def per_position(d: Dtypes, w: Widths) -> float:
    """Bytes per position attended to, over all heads."""
    c, a = d.compute, w.heads
    if w.family in DISENTANGLED:
        # as in every encoder, and what remains of the scores that content gives position and back
        return a * (10.5 if c == 4.0 else 8.0 if d.autocast else 6.0)
    if w.drops or w.family in DROPOUT_IN_ATTENTION:
        return a * (9.0 if c == 4.0 else 7.0 if d.autocast else 5.0)  # softmax, its dropout, the mask
    if w.family in NATIVE_SOFTMAX:
        return a * (4.0 if d.autocast else c)
    capped = c if w.family in SOFTCAPPED else 0.0
    return a * ((6.0 if c == 2.0 else 4.0) + capped)  # softmax in fp32 and its 16-bit copy


def kept_by_latent(s: Setup, d: Dtypes, w: Widths) -> tuple[float, float]:
    """DeepSeek's attention: two bottlenecks with a norm each, keys put together from two pieces, values a view of the
    second bottleneck's output."""
    c, q, a = d.compute, w.queries, w.heads
    ranks, both, values = bottlenecks(s.model)
    kept = kept_by_inputs(d, w, w.hidden, 1, w.attention_hit)
    for rank in ranks:
        kept += 4.0 * rank + 4.0 + (d.stream * rank if w.full else 0.0)
        kept += kept_by_inputs(d, w, rank, 1, min(1, w.attention_hit))
    kept += c * (2 * q + both + values) + 4 * a + (c * values if w.full else 0.0)
    if not w.full and w.output_hit and not d.autocast and d.trained != d.stream:
        kept += 4.0 * values
    return kept, (per_position(d, w) if s.attention == "eager" else 0.0)


def bottlenecks(m: ModelSpec) -> tuple[list[float], float, float]:
    """Ranks that a norm follows, outputs of the keys' and values' matrix, width of the values."""
    by_name = {x.name: x for x in m.linears if x.place == "attention"}
    up = by_name["kv_b_proj"]
    ranks = [float(up.inputs)] + ([float(by_name["q_b_proj"].inputs)] if "q_b_proj" in by_name else [])
    return ranks, float(up.outputs), float(next(x.inputs for n, x in by_name.items() if n.endswith(OUTPUTS)))
