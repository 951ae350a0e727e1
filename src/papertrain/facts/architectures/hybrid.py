"""Qwen3-Next and Qwen3.5: most layers have linear attention (a gated delta net), every fourth has full attention."""

from __future__ import annotations

from papertrain.facts.architectures.mixture import routed, shared_expert, sparse_layers
from papertrain.facts.config import Fields
from papertrain.facts.counting import Architecture, Parts


def parts(config: Fields) -> Parts:
    kind = config.text("model_type")
    heads = config.int("num_attention_heads", high=10_000)
    mixture = kind in ("qwen3_next", "qwen3_5_moe_text")
    p = Parts(
        layers=config.int("num_hidden_layers", high=10_000), hidden=config.int("hidden_size", high=1_000_000), heads=heads,
        kv_heads=config.int("num_key_value_heads", default=heads, high=10_000), head_dim=config.int("head_dim", default=256, high=100_000),
        ffn=config.int("moe_intermediate_size" if mixture and not config.has("intermediate_size") else "intermediate_size", high=100_000_000),
        vocab=config.int("vocab_size", high=100_000_000), activation=config.text("hidden_act", default="silu"),
    )  # fmt: skip
    p.embedding = p.vocab * p.hidden
    full = _full_layers(config, p.layers)
    _full_attention(config, p, full)
    _delta_net(config, p, p.layers - full, fused=kind == "qwen3_next")
    if mixture:
        sparse = sparse_layers(config, p.layers)
        routed(config, p, sparse)
        shared_expert(config, p, sparse)
    else:
        p.gated_mlp()
    p.norms(2)
    p.head(config.bool("tie_word_embeddings", default=False))
    p.notes.append(f"{full} of its {p.layers} layers have full attention, the others linear attention")
    return p


def _full_layers(config: Fields, layers: int) -> int:
    kinds = config.texts("layer_types")
    if kinds:
        return min(layers, sum(k == "full_attention" for k in kinds))
    return layers // config.int("full_attention_interval", default=4, high=10_000)


def _full_attention(config: Fields, p: Parts, count: int) -> None:
    """Its q_proj also makes a gate for the output, so it is twice as wide."""
    wide, kv = p.heads * p.head_dim, p.kv_heads * p.head_dim
    bias = config.bool("attention_bias", default=False)
    for name, inputs, outputs in (
        ("q_proj", p.hidden, 2 * wide),
        ("k_proj", p.hidden, kv),
        ("v_proj", p.hidden, kv),
        ("o_proj", wide, p.hidden),
    ):
        p.linear(name, inputs, outputs, count, bias=bias, place="attention")
    p.other += 2 * p.head_dim * count


def _delta_net(config: Fields, p: Parts, count: int, *, fused: bool) -> None:
    key_heads, value_heads = (
        config.int("linear_num_key_heads", default=16, high=10_000),
        config.int("linear_num_value_heads", default=32, high=10_000),
    )
    value_dim = config.int("linear_value_head_dim", default=128, high=100_000)
    keys, values = key_heads * config.int("linear_key_head_dim", default=128, high=100_000), value_heads * value_dim
    split = (
        ("in_proj_qkv", 2 * keys + values),
        ("in_proj_z", values),
        ("in_proj_b", value_heads),
        ("in_proj_a", value_heads),
    )
    for name, outputs in (("in_proj_qkvz", 2 * keys + 2 * values), ("in_proj_ba", 2 * value_heads)) if fused else split:
        p.linear(name, p.hidden, outputs, count, place="attention")
    p.linear("out_proj", values, p.hidden, count, place="attention")
    # A convolution over time for each channel, two numbers per head, and a norm.
    p.other += (
        (2 * keys + values) * config.int("linear_conv_kernel_dim", default=4, high=1000) + 2 * value_heads + value_dim
    ) * count


ARCHITECTURE = Architecture(id="hybrid", model_types=("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"), parts=parts)
