"""The parts of a model, added up one kind of matrix at a time: what every module of `architectures` is written with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from papertrain.core.models import Linear, ModelKind, ModelSpec
from papertrain.core.values import Record, Source
from papertrain.facts.config import Fields

Place = Literal["attention", "mlp", "expert", "router", "head", "other"]


class Parts:
    """What one model is made of. `of()` turns it into a ModelSpec; counts are never typed, always added up."""

    def __init__(self, kind: ModelKind = "causal", *, layers: int, hidden: int, heads: int, kv_heads: int | None = None, head_dim: int | None = None,
                 ffn: int, vocab: int, norm: Literal["rmsnorm", "layernorm"] = "rmsnorm", gated: bool = True, activation: str = "silu") -> None:  # fmt: skip
        self.kind = kind
        self.layers, self.hidden, self.heads, self.ffn, self.vocab = layers, hidden, heads, ffn, vocab
        self.kv_heads = kv_heads or heads
        self.head_dim = head_dim or hidden // heads
        self.norm, self.gated, self.activation = norm, gated, activation
        self.linears: list[Linear] = []
        self.embedding = 0
        self.other = 0
        self.tied = False
        self.experts = self.experts_per_token = self.expert_ffn = 0
        self.notes: list[str] = []

    def linear(self, name: str, inputs: int, outputs: int, count: int | None = None, *, active: int | None = None, bias: bool = False,
               place: Place = "other") -> None:  # fmt: skip
        n = self.layers if count is None else count
        if n or place == "head":
            self.linears.append(
                Linear(
                    name=name,
                    inputs=inputs,
                    outputs=outputs,
                    count=n,
                    active=n if active is None else active,
                    bias=bias,
                    place=place,
                )
            )

    def attention(self, q: str, k: str, v: str, o: str, *, bias: bool = False, k_bias: bool | None = None, o_bias: bool | None = None,
                  count: int | None = None, wide: int | None = None, hidden: int | None = None, memory: int | None = None) -> None:  # fmt: skip
        """Separate q, k, v, o. `memory` is the width that keys and values are read from (cross-attention)."""
        h = hidden or self.hidden
        width = wide or self.heads * self.head_dim
        kv = self.kv_heads * self.head_dim if wide is None else wide
        self.linear(q, h, width, count, bias=bias, place="attention")
        self.linear(k, memory or h, kv, count, bias=bias if k_bias is None else k_bias, place="attention")
        self.linear(v, memory or h, kv, count, bias=bias, place="attention")
        self.linear(o, width, h, count, bias=bias if o_bias is None else o_bias, place="attention")

    def fused_attention(
        self, qkv: str, o: str, *, bias: bool = False, o_bias: bool | None = None, count: int | None = None
    ) -> None:
        wide = self.heads * self.head_dim
        self.linear(qkv, self.hidden, wide + 2 * self.kv_heads * self.head_dim, count, bias=bias, place="attention")
        self.linear(o, wide, self.hidden, count, bias=bias if o_bias is None else o_bias, place="attention")

    def gated_mlp(self, gate: str = "gate_proj", up: str = "up_proj", down: str = "down_proj", *, ffn: int | None = None, count: int | None = None,
                  active: int | None = None, bias: bool = False, place: Place = "mlp") -> None:  # fmt: skip
        f = ffn or self.ffn
        self.linear(gate, self.hidden, f, count, active=active, bias=bias, place=place)
        self.linear(up, self.hidden, f, count, active=active, bias=bias, place=place)
        self.linear(down, f, self.hidden, count, active=active, bias=bias, place=place)

    def plain_mlp(
        self,
        up: str,
        down: str,
        *,
        bias: bool = True,
        count: int | None = None,
        ffn: int | None = None,
        hidden: int | None = None,
    ) -> None:
        h, f = hidden or self.hidden, ffn or self.ffn
        self.linear(up, h, f, count, bias=bias, place="mlp")
        self.linear(down, f, h, count, bias=bias, place="mlp")

    def moe(self, experts: int, per_token: int, ffn: int, count: int, *, gate: str = "gate_proj", up: str = "up_proj", down: str = "down_proj",
            bias: bool = False) -> None:  # fmt: skip
        """`count` layers of routed experts. The router is added by the caller: it has many names."""
        self.experts, self.experts_per_token, self.expert_ffn = experts, per_token, ffn
        self.gated_mlp(
            gate,
            up,
            down,
            ffn=ffn,
            count=experts * count,
            active=min(per_token, experts) * count,
            bias=bias,
            place="expert",
        )

    def norms(self, per_layer: int, *, bias: bool = False, final: int = 1, width: int | None = None) -> None:
        self.other += (per_layer * self.layers + final) * (width or self.hidden) * (2 if bias else 1)

    def head(self, tied: bool, name: str = "lm_head", *, bias: bool = False, width: int | None = None) -> None:
        """The output head. A tied one has no weight of its own, only its bias."""
        self.tied = tied
        self.linear(name, width or self.hidden, self.vocab, 0 if tied else 1, bias=bias, place="head")
        if tied and bias:
            self.other += self.vocab

    def of(
        self, config: Fields, *, name: str, source: Source, architecture: str, local_path: str | None = None
    ) -> ModelSpec:
        if self.heads % self.kv_heads:
            raise config.wrong(
                f"{self.heads} attention heads cannot share {self.kv_heads} key heads: the one must divide the other"
            )
        matrices = sum(m.parameters for m in self.linears)
        idle = sum(m.parameters - m.active_parameters for m in self.linears if m.place == "expert")
        total = self.embedding + self.other + matrices
        return ModelSpec(
            name=name, source=source, architecture=architecture, kind=self.kind, layers=self.layers, hidden=self.hidden, heads=self.heads,
            kv_heads=self.kv_heads, head_dim=self.head_dim, ffn=self.ffn, vocab=self.vocab, parameters=total, active_parameters=total - idle,
            embedding_parameters=self.embedding, other_parameters=self.other, linears=tuple(self.linears), max_positions=positions(config),
            tied=self.tied, gated=self.gated, activation=self.activation, norm=self.norm, experts=self.experts,
            experts_per_token=self.experts_per_token, expert_ffn=self.expert_ffn, sliding_window=window(config), rope_scaling=stretched(config),
            dtype=dtype(config), local_path=local_path, notes=tuple(self.notes),
        )  # fmt: skip


class Architecture(Record, frozen=True, kw_only=True):
    """A family that is counted by one function. `model_types` are the words in config.json."""

    id: str
    model_types: tuple[str, ...]
    parts: Callable[[Fields], Parts]
    classes: tuple[str, ...] = ()


def positions(config: Fields) -> int | None:
    text = inner(config)
    names = (
        "max_position_embeddings",
        "n_positions",
        "seq_length",
        "max_seq_len",
        "max_sequence_length",
        "model_max_length",
        "max_source_positions",
    )
    return text.optional_int(*names)


def window(config: Fields) -> int | None:
    text = inner(config)
    if text.get("use_sliding_window") is False:
        return None
    return text.optional_int("sliding_window", low=0) or None


def stretched(config: Fields) -> bool:
    """Whether the file itself stretches the positions beyond what the model was trained with."""
    found = inner(config).get("rope_scaling", inner(config).get("rope_parameters"))
    return isinstance(found, dict) and str(found.get("rope_type", found.get("type", "default"))) not in (
        "default",
        "None",
        "mrope",
    )


def dtype(config: Fields) -> str | None:
    value = config.get("torch_dtype") or config.get("dtype") or inner(config).get("torch_dtype")
    short = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32", "half": "fp16", "float": "fp32"}
    return short.get(value.removeprefix("torch."), value[:20]) if isinstance(value, str) else None


def inner(config: Fields) -> Fields:
    """The language model's own part of a multimodal config."""
    for name in ("text_config", "llm_config", "language_config"):
        if isinstance(config.get(name), dict):
            return config.part(name)
    return config
