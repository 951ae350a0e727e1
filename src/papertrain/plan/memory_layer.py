"""What one layer keeps for its backward pass, in bytes per token, and what it needs on top while that pass runs.

Derived from what autograd saves (checked on the CPU with saved-tensor hooks); a view keeps its whole storage.
"""

from __future__ import annotations

from papertrain.core.values import Value
from papertrain.plan.memory_dtypes import Dtypes, family
from papertrain.plan.memory_state import matched
from papertrain.plan.setup import Setup

FUSED_QKV = {
    "qwen",
    "phi3",
    "gptneox",
    "internlm2",
    "baichuan",
    "chatglm",
    "falcon",
    "gpt2",
    "mpt",
    "gptbigcode",
    "bloom",
    "dbrx",
}
NO_ROTARY = {"gpt2", "mpt", "gptbigcode", "bloom", "opt", "gptneo"}
PARALLEL = {"gptneox", "gptj", "phi", "falcon", "codegen", "cohere"}
FOUR_NORMS = {"gemma2", "gemma3", "gemma3text", "glm4"}
HEAD_NORMS = {"qwen3", "qwen3moe", "gemma3", "gemma3text", "olmo2"}
PYTHON_GELU = ("gelu_new", "gelu_pytorch_tanh_python", "gelu_fast")


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
    """One layer under this setup. Saved tensors first, then the temporaries of its backward pass."""
    m, p = s.model, d.profile
    arch = family(m)
    h, q, k, a = float(m.hidden), float(m.heads * m.head_dim), float(m.kv_heads * m.head_dim), float(m.heads)
    routed = m.experts_per_token if m.experts else 1
    f = float((m.expert_ffn or m.ffn) if m.experts else m.ffn)
    c, stream, out = d.compute, d.stream, d.out
    full = not d.adapters
    if s.method == "freeze":
        full = True
    encoder = m.kind in ("encoder", "vision")
    names = {x.name for x in matched(m, s.lora_targets)} if d.adapters else set()
    attention_in = sum(
        1
        for x in m.linears
        if x.place == "attention"
        and x.inputs == m.hidden
        and x.name in names
        and "o_proj" not in x.name
        and not x.name.endswith(("c_proj", "out_proj", "dense"))
    )
    has_o = any(x.place == "attention" and x.name in names for x in m.linears) and bool(
        names & {"o_proj", "out_proj", "c_proj", "dense", "wo", "proj"}
    )
    mlp_places = ("mlp", "expert")
    mlp_in = sum(1 for x in m.linears if x.place in mlp_places and x.inputs == m.hidden and x.name in names)
    has_down = any(
        x.place in mlp_places and x.outputs == m.hidden and x.name in names and x.inputs != m.hidden for x in m.linears
    )
    fused_qkv = p.fused_qkv or arch in FUSED_QKV
    rotary = arch not in NO_ROTARY and not encoder
    liger = s.loss in p.fused_layers_with

    def inputs(width: float, modules: int, hit: int) -> float:
        if full:
            return c * width * (1 if stream == c else modules)
        if not hit:
            return 0.0
        if d.quantised is not None and stream == 2.0:
            return c * width
        if d.autocast:
            return c * width * hit
        if d.trained == stream:
            return c * width
        return 4.0 * width if stream == 4.0 else 4.0 * width * hit

    # norms
    norms = 4 if arch in FOUR_NORMS else 1 if arch in PARALLEL else 2
    packed = liger or s.loss in p.fused_norms_with
    python_norm = m.norm == "rmsnorm" and p.norms == "python" and not (packed and full)
    norm = (4 * h + 4 + (stream * h if full else 0.0)) if python_norm else stream * h + 8
    kept = norms * norm
    if arch in HEAD_NORMS:
        kept += (4 * (q + k) + (c * (q + k) if full else 0.0)) if python_norm else c * (q + k)
    # attention
    kept += inputs(h, 1 if fused_qkv else 3, attention_in)
    repeated = s.attention == "eager" or (encoder and False)
    kk = q if repeated else k
    per_position = 0.0
    if s.attention == "eager":
        kept += c * (2 * q + 2 * kk)
        if encoder or arch == "gpt2":
            per_position = a * (9.0 if c == 4.0 else 7.0 if d.autocast else 5.0)
        else:
            per_position = a * (6.0 if c == 2.0 else 4.0)
    else:
        kept += c * (2 * q + 2 * kk) + 4 * a
    if fused_qkv and rotary:
        kept += c * (q + k)
    if not full and has_o and not d.autocast and d.trained != stream:
        kept += 4.0 * q
    # MLP
    gated = m.gated
    mid = f * routed
    if gated:
        kept += (2.0 if liger else 3.0) * out * mid
    elif m.activation in PYTHON_GELU:
        kept += 4.0 * out * mid
    elif m.activation != "relu" or not full:
        # the input of the activation; its output is the input of the down projection. ReLU keeps its output alone.
        kept += out * mid
    if full or has_down:
        kept += (4.0 if not full and not d.autocast and d.trained == 4.0 and stream != 4.0 else c) * mid
    kept += inputs(h, 2 if gated else 1, mlp_in) * routed
    if m.experts:
        kept += 2 * c * h * routed
    if encoder or arch == "gpt2":
        kept += 2 * h  # dropout masks
    if p.dropout_copies and d.adapters:
        widths = sum(
            x.outputs * (x.active if x.place == "expert" else x.count)
            for x in matched(m, s.lora_targets)
            if x.place != "head"
        )
        kept += c * widths / max(1, m.layers) + h
    if d.adapters and s.lora_rank:
        kept += d.compute * s.lora_rank * len(names)
    if p.keeps_frozen_inputs and d.quantised is not None and str(s.quantization).startswith(("nf4", "fp4")):
        kept += c * (2 * h + mid)
    if s.compiled and stream == c:
        kept = c * (3 * h + 2 * q + 2 * k + 3 * mid) + 4 * a if full else c * (2 * h + 2 * q + 2 * k + 2 * mid) + 4 * a
        if full and not gated:
            kept = c * (3 * h + 2 * q + 2 * k + 2 * mid) + 4 * a
    # temporaries of the backward pass
    wide = (1.0 if liger else 2.0 if gated else 1.0) if full else (1.0 if liger else 3.0 if gated else 2.0)
    extra = 3 * stream * h + out * f * wide * (routed / m.experts if m.experts else 1.0)
    extra_pp = 6.0 * a if s.attention == "eager" else 0.0
    last = extra - (out * f if packed and not full and not liger and gated else 0.0)
    selective = c * (2 * q + k + f + h) + stream * h
    return Layer(
        kept=kept,
        kept_per_position=per_position,
        extra=extra,
        extra_per_position=extra_pp,
        extra_last=last,
        mlp=out * f,
        selective=selective,
    )
