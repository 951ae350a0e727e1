"""What one layer keeps for its backward pass, in bytes per token, and what it needs on top while that pass runs.

Derived from what autograd saves (checked on the CPU with saved-tensor hooks); a view keeps its whole storage.
"""

from __future__ import annotations

from papertrain.core.values import Value
from papertrain.plan.memory_attention import kept_by_attention, written_out
from papertrain.plan.memory_dtypes import Dtypes
from papertrain.plan.memory_families import (
    CLAMPED_MLP,
    COHERE_NORMS,
    DROPOUT_IN_MLP,
    FOUR_NORMS,
    FP32_NORMS,
    HEAD_NORMS,
    OUTPUTS,
    PARALLEL,
    PYTHON_GELU,
)
from papertrain.plan.memory_state import matched
from papertrain.plan.memory_widths import Widths, drops_inputs, kept_by_inputs, widths
from papertrain.plan.setup import Setup


class Layer(Value, frozen=True, kw_only=True):
    """Bytes per token of one layer: `kept` + `kept_per_position` × length; `extra` likewise, only while it runs.

    mlp: bytes per token of one MLP output, which the allocator's cache is made of. selective: kept when only every
    second matmul and the attention output survive.
    """

    kept: float
    kept_per_position: float
    extra: float
    extra_last: float
    extra_per_position: float
    mlp: float
    selective: float


def layer(s: Setup, d: Dtypes) -> Layer:
    """One layer under this setup: what stays for the backward pass, then what that pass needs on top."""
    w = widths(s, d)
    attention, per_position = kept_by_attention(s, d, w)
    kept = kept_by_norms(s, d, w) + attention + kept_by_mlp(s, d, w) + kept_by_adapters(s, d, w)
    if s.compiled and d.stream == d.compute:
        kept = kept_when_compiled(s, d, w)
    c, h, a = d.compute, w.hidden, w.heads
    # one output of the MLP is alive per operation between its matmuls; a frozen gated MLP holds one more
    alive = (
        1.0 if w.liger or w.fused_mlp or (w.full and not s.model.gated) else 2.0 if w.full or not s.model.gated else 3.0
    )
    wide = d.out * w.ffn * (w.routed / s.model.experts if s.model.experts else 1.0)
    extra = 3 * d.stream * h + wide * alive
    return Layer(
        kept=kept,
        kept_per_position=per_position,
        extra=extra,
        extra_per_position=6.0 * a if written_out(s, d, w) else 0.0,
        extra_last=extra - (d.out * w.ffn if w.packed and not w.full and not w.liger and s.model.gated else 0.0),
        mlp=d.out * w.ffn,
        selective=c * (2 * w.queries + w.keys + w.ffn + h) + d.stream * h,
    )


def kept_by_norms(s: Setup, d: Dtypes, w: Widths) -> float:
    """RMSNorm written in Python keeps an fp32 copy, and its output if its weight is trained; a fused norm its input."""
    python = s.model.norm == "rmsnorm" and d.profile.norms == "python" and not (w.packed and w.full)
    own = 4.0 if w.family in FP32_NORMS else d.stream
    if w.family in COHERE_NORMS and d.profile.norms == "python":
        one = 4 * w.hidden + 8 + (4 * w.hidden if w.full else 0.0)
    elif python:
        one = 4 * w.hidden + 4 + (own * w.hidden if w.full else 0.0)
    else:
        one = d.stream * w.hidden + 8
    # a decoder that looks at an encoder has one more
    kept = one * ((4 if w.family in FOUR_NORMS else 1 if w.family in PARALLEL else 2) + w.blocks - 1)
    if w.family in HEAD_NORMS:
        heads = w.queries + w.keys
        kept += 4 * heads + (min(own, 4.0) * heads if w.full else 0.0) if python else d.compute * heads
    return kept


def kept_by_mlp(s: Setup, d: Dtypes, w: Widths) -> float:
    if w.fused_mlp:
        return d.compute * (w.hidden + 2.0 * w.mid)  # the activation is computed again on the way back
    kept = kept_by_inputs(d, w, w.hidden, 2 if s.model.gated else 1, w.mlp_hit) * w.routed
    if s.model.gated:
        kept += (2.0 if w.liger else 6.0 if w.family in CLAMPED_MLP else 3.0) * d.out * w.mid
        if s.model.activation in PYTHON_GELU:
            kept += 3.0 * d.out * w.mid
    elif s.model.activation in PYTHON_GELU:
        kept += 4.0 * d.out * w.mid
    elif s.model.activation != "relu" or not w.full:
        # the input of the activation; its output is the input of the down projection. ReLU keeps its output alone.
        kept += d.out * w.mid
    if w.full or w.down_hit:
        cast = not w.full and not d.autocast and d.trained == 4.0 and d.stream != 4.0
        kept += (4.0 if cast else d.compute) * w.mid
    if s.model.experts:
        kept += 2 * d.compute * w.hidden * w.routed
    if w.family in DROPOUT_IN_MLP:
        kept += w.mid + (d.out * w.mid if s.model.activation == "relu" else 0.0)
    return kept


def kept_by_adapters(s: Setup, d: Dtypes, w: Widths) -> float:
    """What passes between the two small matrices, and the copies that some libraries make around them."""
    p, kept = d.profile, 0.0
    if p.keeps_frozen_inputs and d.quantised is not None and str(s.quantization).startswith(("nf4", "fp4")):
        kept += d.compute * (2 * w.hidden + w.mid)
    if not d.adapters:
        return kept
    hit = [x for x in matched(s.model, s.lora_targets) if not w.fused(x)]
    kept += d.compute * (s.lora_rank or 0) * len({x.name for x in hit})
    if drops_inputs(s, p):
        kept += kept_by_dropout(s, d, w)
        # one mask and one dropped-out copy for what reads the same input; none before the MLP's last matrix
        kept += (1.0 + d.compute) * (w.hidden * (w.fused_qkv_adapters + w.fused_mlp) + w.queries * w.fused_output)
    return kept


def kept_by_dropout(s: Setup, d: Dtypes, w: Widths) -> float:
    """Masks of a byte, one for each matrix (one for q, k and v where they are one), and the dropped-out inputs that matrices
    would otherwise share. Where such a matrix is adapted in part, its update is put in place by an index that keeps it."""
    each = [x for x in matched(s.model, s.lora_targets) if x.place != "head" and not w.fused(x)]
    into = [x for x in each if x.place == "attention" and x.inputs == s.model.hidden and not x.name.endswith(OUTPUTS)]
    one = d.profile.fused_qkv
    others = [x for x in each if x not in into] if one else each
    share = 1.0 / max(1, s.model.layers)
    kept = sum(x.inputs * (x.active if x.place == "expert" else x.count) for x in others) * share
    kept += w.hidden if one and into else 0.0
    if (not d.autocast and d.trained == d.stream) or (d.quantised is not None and d.stream == 2.0):
        apart = 0 if w.fused_mlp else max(0, w.mlp_hit - 1) * w.routed
        apart += 0 if one or w.fused_qkv_adapters else max(0, w.attention_hit - 1)
        kept += d.compute * w.hidden * apart + (d.compute * w.queries if w.output_hit and not w.fused_output else 0.0)
    if one and 0 < len(into) < 3:
        kept += d.compute * sum(x.outputs * x.count for x in into) * share
    return kept


def kept_when_compiled(s: Setup, d: Dtypes, w: Widths) -> float:
    """What the min-cut partitioner leaves where everything is in one dtype."""
    c, h, q, k, a = d.compute, w.hidden, w.queries, w.keys, w.heads
    if not w.full:
        return c * (2 * h + 2 * q + 2 * k + 2 * w.mid) + 4 * a
    return c * (3 * h + 2 * q + 2 * k + (3 if s.model.gated else 2) * w.mid) + 4 * a
