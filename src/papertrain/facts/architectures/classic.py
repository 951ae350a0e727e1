"""Decoders of the GPT line: LayerNorm and, mostly, a plain MLP with biases."""

from __future__ import annotations

from papertrain.facts.config import Fields
from papertrain.facts.counting import Architecture, Parts


def parts(config: Fields) -> Parts:
    return _BY_TYPE[config.text("model_type")](config)


def _start(
    config: Fields,
    *,
    ffn: int | None = None,
    kv_heads: int | None = None,
    activation: str = "gelu",
    gated: bool = False,
) -> Parts:
    hidden = config.int("n_embd", "hidden_size", "d_model", high=1_000_000)
    p = Parts(
        layers=config.int("n_layer", "num_hidden_layers", "n_layers", "num_layers", high=10_000), hidden=hidden,
        heads=config.int("n_head", "num_attention_heads", "n_heads", "num_heads", high=10_000), kv_heads=kv_heads,
        ffn=ffn or config.int("n_inner", "intermediate_size", "ffn_dim", default=4 * hidden, high=100_000_000), vocab=config.int("vocab_size", high=100_000_000),
        norm="layernorm", gated=gated, activation=config.text("activation_function", "hidden_act", "activation", default=activation),
    )  # fmt: skip
    p.embedding = p.vocab * hidden
    return p


def gpt2(config: Fields) -> Parts:
    p = _start(config, activation="gelu_new")
    p.other += config.int("n_positions", "n_ctx", default=1024) * p.hidden
    p.fused_attention("c_attn", "c_proj", bias=True)
    p.plain_mlp("c_fc", "c_proj")
    p.norms(2, bias=True)
    p.head(config.bool("tie_word_embeddings", default=True))
    return p


def gpt_bigcode(config: Fields) -> Parts:
    p = _start(config, kv_heads=1 if config.bool("multi_query", default=True) else None, activation="gelu_pytorch_tanh")
    p.other += config.int("n_positions", default=1024) * p.hidden
    p.fused_attention("c_attn", "c_proj", bias=True)
    p.plain_mlp("c_fc", "c_proj")
    p.norms(2, bias=True)
    p.head(config.bool("tie_word_embeddings", default=True))
    return p


def gpt_neo(config: Fields) -> Parts:
    p = _start(config, activation="gelu_new")
    p.other += config.int("max_position_embeddings", default=2048) * p.hidden
    p.attention("q_proj", "k_proj", "v_proj", "out_proj", o_bias=True)
    p.plain_mlp("c_fc", "c_proj")
    p.norms(2, bias=True)
    p.head(config.bool("tie_word_embeddings", default=True))
    return p


def gptj(config: Fields) -> Parts:
    p = _start(config, activation="gelu_new")
    p.attention("q_proj", "k_proj", "v_proj", "out_proj")
    p.plain_mlp("fc_in", "fc_out")
    p.norms(1, bias=True)
    p.head(config.bool("tie_word_embeddings", default=False), bias=True)
    return p


def gpt_neox(config: Fields) -> Parts:
    p = _start(config)
    p.fused_attention("query_key_value", "dense", bias=config.bool("attention_bias", default=True))
    p.plain_mlp("dense_h_to_4h", "dense_4h_to_h")
    p.norms(2, bias=True)
    p.head(config.bool("tie_word_embeddings", default=False), "embed_out")
    return p


def opt(config: Fields) -> Parts:
    p = _start(config, activation="relu")
    width = config.int("word_embed_proj_dim", default=p.hidden, high=1_000_000)
    biased = config.bool("enable_bias", default=True)
    p.embedding = p.vocab * width
    p.other += (
        config.int("max_position_embeddings", default=2048) + 2
    ) * p.hidden  # the first two positions are never used
    p.attention("q_proj", "k_proj", "v_proj", "out_proj", bias=biased)
    p.plain_mlp("fc1", "fc2", bias=biased)
    if config.bool("layer_norm_elementwise_affine", default=True):
        p.norms(
            2,
            bias=True,
            final=int(
                config.bool("do_layer_norm_before", default=True)
                and not config.bool("_remove_final_layer_norm", default=False)
            ),
        )
    if width != p.hidden:
        p.linear("project_in", width, p.hidden, 1)
        p.linear("project_out", p.hidden, width, 1)
    p.head(config.bool("tie_word_embeddings", default=True), width=width)
    return p


def bloom(config: Fields) -> Parts:
    p = _start(config)
    p.other += 2 * p.hidden  # a norm right after the embedding
    p.fused_attention("query_key_value", "dense", bias=True)
    p.plain_mlp("dense_h_to_4h", "dense_4h_to_h")
    p.norms(2, bias=True)
    p.head(config.bool("tie_word_embeddings", default=True))
    return p


def falcon(config: Fields) -> Parts:
    heads = config.int("num_attention_heads", "n_head", high=10_000)
    grouped = config.bool("new_decoder_architecture", default=False)
    if grouped:
        kv = config.int("num_kv_heads", "n_head_kv", default=heads, high=10_000)
    else:
        kv = 1 if config.bool("multi_query", default=True) else heads
    hidden = config.int("hidden_size", high=1_000_000)
    p = _start(config, kv_heads=kv, ffn=config.int("ffn_hidden_size", default=4 * hidden, high=100_000_000))
    biased = config.bool("bias", default=False)
    p.fused_attention("query_key_value", "dense", bias=biased)
    p.plain_mlp("dense_h_to_4h", "dense_4h_to_h", bias=biased)
    parallel = config.bool("parallel_attn", default=True)
    two = config.int("num_ln_in_parallel_attn", default=2, high=2) == 2 if grouped else not parallel
    p.norms(2 if two else 1, bias=True)
    p.head(config.bool("tie_word_embeddings", default=True))
    return p


def mpt(config: Fields) -> Parts:
    inside = config.or_part("attn_config")
    p = _start(
        config,
        ffn=config.int("d_model", high=1_000_000) * config.int("expansion_ratio", default=4, high=1000),
        kv_heads=inside.optional_int("kv_n_heads"),
    )
    biased = not config.bool("no_bias", default=True)
    if (
        config.bool("learned_pos_emb", default=True)
        and not inside.bool("alibi", default=True)
        and not inside.bool("rope", default=False)
    ):
        p.other += config.int("max_seq_len", default=2048) * p.hidden
    p.fused_attention("Wqkv", "out_proj", bias=biased)
    p.plain_mlp("up_proj", "down_proj", bias=biased)
    p.norms(2, bias=biased)
    p.head(config.bool("tie_word_embeddings", default=True))
    return p


def phi(config: Fields) -> Parts:
    heads = config.int("num_attention_heads", high=10_000)
    p = _start(config, activation="gelu_new", kv_heads=config.int("num_key_value_heads", default=heads, high=10_000))
    p.attention("q_proj", "k_proj", "v_proj", "dense", bias=True)
    p.plain_mlp("fc1", "fc2")
    p.norms(1, bias=True)
    if config.bool("qk_layernorm", default=False):
        p.other += 4 * p.head_dim * p.layers
    p.head(config.bool("tie_word_embeddings", default=False), bias=True)
    return p


def starcoder2(config: Fields) -> Parts:
    heads = config.int("num_attention_heads", high=10_000)
    p = _start(
        config, activation="gelu_pytorch_tanh", kv_heads=config.int("num_key_value_heads", default=heads, high=10_000)
    )
    biased = config.bool("use_bias", default=True)
    p.attention("q_proj", "k_proj", "v_proj", "o_proj", bias=biased)
    p.plain_mlp("c_fc", "c_proj", bias=biased)
    p.norms(2, bias=True)
    p.head(config.bool("tie_word_embeddings", default=True))
    return p


def stablelm(config: Fields) -> Parts:
    heads = config.int("num_attention_heads", high=10_000)
    p = _start(
        config, activation="silu", gated=True, kv_heads=config.int("num_key_value_heads", default=heads, high=10_000)
    )
    p.attention("q_proj", "k_proj", "v_proj", "o_proj", bias=config.bool("use_qkv_bias", default=False), o_bias=False)
    p.gated_mlp()
    p.norms(1 if config.bool("use_parallel_residual", default=False) else 2, bias=True)
    if config.bool("qk_layernorm", default=False):
        p.other += (p.heads + p.kv_heads) * p.head_dim * p.layers
    p.head(config.bool("tie_word_embeddings", default=False))
    return p


_BY_TYPE = {
    "gpt2": gpt2, "gpt_bigcode": gpt_bigcode, "gpt_neo": gpt_neo, "gptj": gptj, "gpt_neox": gpt_neox, "opt": opt, "bloom": bloom, "falcon": falcon,
    "RefinedWebModel": falcon, "RefinedWeb": falcon, "mpt": mpt, "phi": phi, "starcoder2": starcoder2, "stablelm": stablelm,
    "stablelm_epoch": stablelm,
}  # fmt: skip

ARCHITECTURE = Architecture(id="classic", model_types=tuple(_BY_TYPE), parts=parts)
