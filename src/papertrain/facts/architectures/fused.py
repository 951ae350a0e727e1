"""Decoders with gated MLPs that fuse q, k and v (or gate and up) into one matrix: Phi-3, Qwen 1, ChatGLM, GLM, InternLM2, Baichuan."""

from __future__ import annotations

from papertrain.facts.config import Fields
from papertrain.facts.counting import Architecture, Parts


def parts(config: Fields) -> Parts:
    return _BY_TYPE[config.text("model_type")](config)


def _start(config: Fields, *, ffn: int | None = None, kv_heads: int | None = None, vocab: int | None = None, layers: int | None = None,
           head_dim: int | None = None) -> Parts:  # fmt: skip
    heads = config.int("num_attention_heads", high=10_000)
    p = Parts(
        layers=layers or config.int("num_hidden_layers", high=10_000), hidden=config.int("hidden_size", high=1_000_000), heads=heads,
        kv_heads=kv_heads or config.int("num_key_value_heads", default=heads, high=10_000), head_dim=head_dim,
        ffn=ffn or config.int("intermediate_size", high=100_000_000), vocab=vocab or config.int("vocab_size", high=100_000_000),
        activation=config.text("hidden_act", default="silu"),
    )  # fmt: skip
    p.embedding = p.vocab * p.hidden
    return p


def phi3(config: Fields) -> Parts:
    p = _start(config)
    p.fused_attention("qkv_proj", "o_proj")
    p.linear("gate_up_proj", p.hidden, 2 * p.ffn, place="mlp")
    p.linear("down_proj", p.ffn, p.hidden, place="mlp")
    p.norms(2)
    p.head(config.bool("tie_word_embeddings", default=False))
    return p


def glm(config: Fields) -> Parts:
    """GLM-4 9B in the form that transformers reads itself; `glm4` (0414) has two more norms in each layer."""
    p = _start(config, head_dim=config.int("head_dim", default=128, high=100_000))
    p.attention("q_proj", "k_proj", "v_proj", "o_proj", bias=config.bool("attention_bias", default=True), o_bias=False)
    p.linear("gate_up_proj", p.hidden, 2 * p.ffn, place="mlp")
    p.linear("down_proj", p.ffn, p.hidden, place="mlp")
    p.norms(4 if config.text("model_type") == "glm4" else 2)
    p.head(config.bool("tie_word_embeddings", default=False))
    return p


def chatglm(config: Fields) -> Parts:
    if config.has("inner_hidden_size"):
        return _chatglm_1(config)
    heads = config.int("num_attention_heads", high=10_000)
    grouped = config.bool("multi_query_attention", default=False)
    p = _start(
        config, layers=config.int("num_layers", "num_hidden_layers", high=10_000), ffn=config.int("ffn_hidden_size", high=100_000_000),
        vocab=config.int("padded_vocab_size", "vocab_size", high=100_000_000), head_dim=config.int("kv_channels", default=128, high=100_000),
        kv_heads=config.int("multi_query_group_num", high=10_000) if grouped else heads,
    )  # fmt: skip
    bias = config.bool("add_bias_linear", default=False)
    p.fused_attention("query_key_value", "dense", bias=bias or config.bool("add_qkv_bias", default=False), o_bias=bias)
    p.linear("dense_h_to_4h", p.hidden, 2 * p.ffn, bias=bias, place="mlp")
    p.linear("dense_4h_to_h", p.ffn, p.hidden, bias=bias, place="mlp")
    p.norms(2)
    p.head(config.bool("tie_word_embeddings", default=False), "output_layer")
    return p


def _chatglm_1(config: Fields) -> Parts:
    """The first ChatGLM-6B: LayerNorms, a plain MLP, biases everywhere, and one embedding for both ends."""
    p = _start(
        config, layers=config.int("num_layers", high=10_000), ffn=config.int("inner_hidden_size", high=100_000_000)
    )
    p.gated, p.activation, p.norm = False, "gelu", "layernorm"
    p.fused_attention("query_key_value", "dense", bias=True)
    p.plain_mlp("dense_h_to_4h", "dense_4h_to_h")
    p.norms(2, bias=True)
    p.head(True)
    return p


def internlm2(config: Fields) -> Parts:
    p = _start(config)
    p.fused_attention("wqkv", "wo", bias=config.bool("bias", default=False))
    p.gated_mlp("w1", "w3", "w2")
    p.norms(2)
    p.head(config.bool("tie_word_embeddings", default=False), "output")
    return p


def baichuan(config: Fields) -> Parts:
    p = _start(config)
    p.fused_attention("W_pack", "o_proj")
    p.gated_mlp()
    p.norms(2)
    p.head(config.bool("tie_word_embeddings", default=False))
    return p


def qwen(config: Fields) -> Parts:
    """The first Qwen. Its `intermediate_size` counts both halves of the gate: each matrix has half of it."""
    p = _start(
        config,
        ffn=config.int("intermediate_size", high=100_000_000) // 2,
        head_dim=config.int("kv_channels", default=128, high=100_000),
    )
    biased = not config.bool("no_bias", default=True)
    p.fused_attention("c_attn", "c_proj", bias=True, o_bias=biased)
    p.gated_mlp("w2", "w1", "c_proj", bias=biased)
    p.norms(2)
    p.head(config.bool("tie_word_embeddings", default=False))
    return p


_BY_TYPE = {
    "phi3": phi3, "glm": glm, "glm4": glm, "chatglm": chatglm, "internlm2": internlm2, "baichuan": baichuan, "qwen": qwen,
}  # fmt: skip

ARCHITECTURE = Architecture(id="fused", model_types=tuple(_BY_TYPE), parts=parts)
