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
OUTPUTS = ("o_proj", "out_proj", "c_proj", "dense", "wo")
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


class Widths(Value, frozen=True, kw_only=True):
    """The widths of one layer, what is trained of it, and who computes it how.

    hidden, queries, keys, heads: as in the model. mid: MLP width times the experts of one token. routed: those experts.
    attention_hit, mlp_hit: adapted matrices that read the layer's input; output_hit, down_hit: the one behind is adapted.
    """

    hidden: float
    queries: float
    keys: float
    heads: float
    ffn: float
    mid: float
    routed: int
    full: bool
    attention_hit: int
    output_hit: bool
    mlp_hit: int
    down_hit: bool
    fused_qkv: bool
    rotary: bool
    encoder: bool
    liger: bool
    packed: bool
    family: str


def layer(s: Setup, d: Dtypes) -> Layer:
    """One layer under this setup: what stays for the backward pass, then what that pass needs on top."""
    w = widths(s, d)
    attention, per_position = kept_by_attention(s, d, w)
    kept = kept_by_norms(s, d, w) + attention + kept_by_mlp(s, d, w) + kept_by_adapters(s, d, w)
    if s.compiled and d.stream == d.compute:
        kept = kept_when_compiled(s, d, w)
    c, h, a = d.compute, w.hidden, w.heads
    # one output of the MLP is alive per operation between its matmuls; a frozen gated MLP holds one more
    alive = 1.0 if w.liger or (w.full and not s.model.gated) else 2.0 if w.full or not s.model.gated else 3.0
    wide = d.out * w.ffn * (w.routed / s.model.experts if s.model.experts else 1.0)
    extra = 3 * d.stream * h + wide * alive
    return Layer(
        kept=kept,
        kept_per_position=per_position,
        extra=extra,
        extra_per_position=6.0 * a if s.attention == "eager" else 0.0,
        extra_last=extra - (d.out * w.ffn if w.packed and not w.full and not w.liger and s.model.gated else 0.0),
        mlp=d.out * w.ffn,
        selective=c * (2 * w.queries + w.keys + w.ffn + h) + d.stream * h,
    )


def widths(s: Setup, d: Dtypes) -> Widths:
    m = s.model
    arch = family(m)
    encoder = m.kind in ("encoder", "vision")
    routed = m.experts_per_token if m.experts else 1
    ffn = float((m.expert_ffn or m.ffn) if m.experts else m.ffn)
    names = {x.name for x in matched(m, s.lora_targets)} if d.adapters else set()
    attention = [x for x in m.linears if x.place == "attention" and x.name in names]
    mlp = [x for x in m.linears if x.place in ("mlp", "expert") and x.name in names]
    return Widths(
        hidden=float(m.hidden),
        queries=float(m.heads * m.head_dim),
        keys=float(m.kv_heads * m.head_dim),
        heads=float(m.heads),
        ffn=ffn,
        mid=ffn * routed,
        routed=routed,
        full=not d.adapters,
        attention_hit=sum(x.inputs == m.hidden and not x.name.endswith(OUTPUTS) for x in attention),
        output_hit=any(x.name.endswith(OUTPUTS) for x in attention),
        mlp_hit=sum(x.inputs == m.hidden for x in mlp),
        down_hit=any(x.outputs == m.hidden != x.inputs for x in mlp),
        fused_qkv=d.profile.fused_qkv or arch in FUSED_QKV,
        rotary=arch not in NO_ROTARY and not encoder,
        encoder=encoder,
        liger=s.loss in d.profile.fused_layers_with,
        packed=s.loss in d.profile.fused_layers_with or s.loss in d.profile.fused_norms_with,
        family=arch,
    )


def kept_by_inputs(d: Dtypes, w: Widths, width: float, modules: int, hit: int) -> float:
    """The input that several matrices share: once, or once per matrix where each casts it for itself."""
    if w.full:
        return d.compute * width * (1 if d.stream == d.compute else modules)
    if not hit:
        return 0.0
    if d.quantised is not None and d.stream == 2.0:
        return d.compute * width
    if d.autocast:
        return d.compute * width * hit
    if d.trained == d.stream:
        return d.compute * width
    return 4.0 * width * (1 if d.stream == 4.0 else hit)


def kept_by_norms(s: Setup, d: Dtypes, w: Widths) -> float:
    """RMSNorm written in Python keeps an fp32 copy, and its output if its weight is trained; a fused norm its input."""
    python = s.model.norm == "rmsnorm" and d.profile.norms == "python" and not (w.packed and w.full)
    one = 4 * w.hidden + 4 + (d.stream * w.hidden if w.full else 0.0) if python else d.stream * w.hidden + 8
    kept = one * (4 if w.family in FOUR_NORMS else 1 if w.family in PARALLEL else 2)
    if w.family in HEAD_NORMS:
        heads = w.queries + w.keys
        kept += 4 * heads + (d.compute * heads if w.full else 0.0) if python else d.compute * heads
    return kept


def kept_by_attention(s: Setup, d: Dtypes, w: Widths) -> tuple[float, float]:
    """Inputs, q, k, v and the output; the second figure is per position attended to, where scores are written out."""
    c, q, k, a = d.compute, w.queries, w.keys, w.heads
    kept = kept_by_inputs(d, w, w.hidden, 1 if w.fused_qkv else 3, w.attention_hit)
    per_position = 0.0
    if s.attention == "eager":
        kept += c * 4 * q  # keys and values are repeated for every head
        if w.encoder or w.family == "gpt2":
            per_position = a * (9.0 if c == 4.0 else 7.0 if d.autocast else 5.0)  # softmax, its dropout, the mask
        else:
            per_position = a * (6.0 if c == 2.0 else 4.0)  # softmax in fp32 and its 16-bit copy
    elif d.profile.repeats_keys and k < q:
        kept += c * 4 * q + 4 * a
    else:
        kept += c * (2 * q + 2 * k) + 4 * a
    if w.fused_qkv and w.rotary and not (d.profile.repeats_keys and k < q):
        kept += c * (q + k)  # v is a view that keeps q and k alive as they were before the rotation
    if not w.full and w.output_hit and not d.autocast and d.trained != d.stream:
        kept += 4.0 * q
    if w.encoder or w.family == "gpt2":
        kept += 2 * w.hidden  # dropout masks, a byte each
    return kept, per_position


def kept_by_mlp(s: Setup, d: Dtypes, w: Widths) -> float:
    kept = kept_by_inputs(d, w, w.hidden, 2 if s.model.gated else 1, w.mlp_hit) * w.routed
    if s.model.gated:
        kept += (2.0 if w.liger else 3.0) * d.out * w.mid
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
    return kept


def kept_by_adapters(s: Setup, d: Dtypes, w: Widths) -> float:
    """What passes between the two small matrices, and the copies that some libraries make around them."""
    p, kept = d.profile, 0.0
    if p.keeps_frozen_inputs and d.quantised is not None and str(s.quantization).startswith(("nf4", "fp4")):
        kept += d.compute * (2 * w.hidden + w.mid)
    if not d.adapters:
        return kept
    hit = matched(s.model, s.lora_targets)
    kept += d.compute * (s.lora_rank or 0) * len({x.name for x in hit})
    if p.dropout_copies:
        kept += kept_by_dropout(s, d, w)
    return kept


def kept_by_dropout(s: Setup, d: Dtypes, w: Widths) -> float:
    """Masks of a byte, and the dropped-out inputs that matrices would otherwise share. Where q, k and v are one matrix and
    not all of them adapted, their updates are put in place by an index that keeps them once more."""
    each = [x for x in matched(s.model, s.lora_targets) if x.place != "head"]
    into = [x for x in each if x.place == "attention" and x.inputs == s.model.hidden and not x.name.endswith(OUTPUTS)]
    others = [x for x in each if x not in into]
    share = 1.0 / max(1, s.model.layers)
    kept = sum(x.inputs * (x.active if x.place == "expert" else x.count) for x in others) * share
    kept += w.hidden if into else 0.0
    kept += d.compute * w.hidden * max(0, w.mlp_hit - 1) * w.routed + (d.compute * w.queries if w.output_hit else 0.0)
    if w.fused_qkv and 0 < len(into) < 3:
        kept += d.compute * sum(x.outputs * x.count for x in into) * share
    return kept


def kept_when_compiled(s: Setup, d: Dtypes, w: Widths) -> float:
    """What the min-cut partitioner leaves where everything is in one dtype."""
    c, h, q, k, a = d.compute, w.hidden, w.queries, w.keys, w.heads
    if not w.full:
        return c * (2 * h + 2 * q + 2 * k + 2 * w.mid) + 4 * a
    return c * (3 * h + 2 * q + 2 * k + (3 if s.model.gated else 2) * w.mid) + 4 * a
