"""The widths of one layer, what is trained of it, and who computes it how."""

from __future__ import annotations

from papertrain.core.models import Linear, ModelSpec
from papertrain.core.values import Value
from papertrain.facts.profiles import Profile
from papertrain.plan.memory_dtypes import Dtypes, family
from papertrain.plan.memory_families import FUSED_QKV, NO_ROTARY, OUTPUTS, ROTARY_ENCODERS
from papertrain.plan.memory_state import matched
from papertrain.plan.setup import Setup


class Widths(Value, frozen=True, kw_only=True):
    """Means over the layers, where they differ (a dense first layer of a mixture, a decoder beside an encoder).

    hidden, queries, keys, heads: as in the model. ffn: of one MLP or expert; mid: of all that one token passes through.
    routed: experts of one token. blocks: attentions of one layer, more than one where a decoder looks at an encoder.
    drops: a text encoder, with dropout in its attention and behind it.
    fused_qkv_adapters, fused_output, fused_mlp: adapted matrices that the stack's own kernels compute together.
    attention_hit, mlp_hit: adapted matrices that read the layer's input; output_hit, down_hit: the one behind is adapted.
    """

    hidden: float
    queries: float
    keys: float
    heads: float
    ffn: float
    mid: float
    routed: int
    blocks: float
    full: bool
    attention_hit: int
    output_hit: bool
    mlp_hit: int
    down_hit: bool
    fused_qkv: bool
    rotary: bool
    drops: bool
    liger: bool
    packed: bool
    family: str
    fused_qkv_adapters: bool = False
    fused_output: bool = False
    fused_mlp: bool = False

    def fused(self, x: Linear) -> bool:
        """Whether the stack's own kernel computes this adapted matrix."""
        if x.place == "attention":
            return self.fused_output if x.name.endswith(OUTPUTS) else self.fused_qkv_adapters
        return self.fused_mlp and x.place == "mlp"


def widths(s: Setup, d: Dtypes) -> Widths:
    m = s.model
    arch = family(m)
    encoder = m.kind in ("encoder", "vision")
    names = {x.name for x in matched(m, s.lora_targets)} if d.adapters else set()
    attention = [x for x in m.linears if x.place == "attention" and x.name in names]
    mlp = [x for x in m.linears if x.place in ("mlp", "expert") and x.name in names]
    attention_hit = sum(x.inputs == m.hidden and not x.name.endswith(OUTPUTS) for x in attention)
    output_hit = any(x.name.endswith(OUTPUTS) for x in attention)
    mlp_hit = len({x.name for x in mlp if x.inputs == m.hidden})
    down_hit = any(x.outputs == m.hidden != x.inputs for x in mlp)
    own = fuses_adapters(s, d)
    return Widths(
        hidden=float(m.hidden),
        queries=float(m.heads * m.head_dim),
        keys=float(m.kv_heads * m.head_dim),
        heads=float(m.heads),
        ffn=float((m.expert_ffn or m.ffn) if m.experts else m.ffn),
        mid=middle(m),
        routed=m.experts_per_token if m.experts else 1,
        blocks=attentions(m),
        full=not d.adapters,
        attention_hit=attention_hit,
        output_hit=output_hit,
        mlp_hit=mlp_hit,
        down_hit=down_hit,
        fused_qkv=d.profile.fused_qkv or arch in FUSED_QKV,
        rotary=arch not in NO_ROTARY and (not encoder or arch in ROTARY_ENCODERS),
        drops=m.kind == "encoder" and arch not in ROTARY_ENCODERS,
        liger=s.loss in d.profile.fused_layers_with,
        packed=s.loss in d.profile.fused_layers_with or s.loss in d.profile.fused_norms_with,
        family=arch,
        fused_qkv_adapters=own and attention_hit == 3 and arch not in FUSED_QKV,
        fused_output=own and output_hit,
        fused_mlp=own and bool(m.gated) and not m.experts and mlp_hit == 2 and down_hit,
    )


def drops_inputs(s: Setup, p: Profile) -> bool:
    return bool(s.lora_dropout) or (s.lora_dropout is None and p.dropout_copies)


def fuses_adapters(s: Setup, d: Dtypes) -> bool:
    """Whether the stack's own kernels compute the adapted matrices of this run, or PEFT's layers do."""
    p = d.profile
    if not (p.fused_adapters and d.adapters):
        return False
    here = {
        "dropout": drops_inputs(s, p),
        "preferences": s.sequences_per_example > 1,
        "fsdp1": s.sharding == "fsdp1",
        "int8": s.quantization == "int8",
        "dora": s.method == "dora",
    }
    return not any(here[word] for word in p.fused_unless)


def middle(m: ModelSpec) -> float:
    """Width between the matrices of the MLP, over all that one token passes through: shared experts beside routed ones."""
    down = [x for x in m.linears if x.place in ("mlp", "expert") and x.outputs == m.hidden and _behind(m, x)]
    found = sum(x.inputs * x.active for x in down) / max(1, m.layers)
    return float(found or (m.expert_ffn or m.ffn) * max(1, m.experts_per_token))


def _behind(m: ModelSpec, x: Linear) -> bool:
    """The last matrix of an MLP, also where the MLP is no wider than the stream and its shape does not tell."""
    same = [y for y in m.linears if y.place == x.place and y.count == x.count]
    return x.inputs != m.hidden or x is same[-1]


def attentions(m: ModelSpec) -> float:
    """1, or 1.5 where every second layer has a second one."""
    if m.kind not in ("encoder-decoder", "speech"):
        return 1.0
    behind = sum(x.count for x in m.linears if x.place == "attention" and x.name in ("o", "out_proj"))
    return max(1.0, behind / max(1, m.layers))


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
