"""Llama-like mixtures of experts: routed experts instead of the MLP, in all or in some layers."""

from __future__ import annotations

from papertrain.facts.architectures.llama import decoder
from papertrain.facts.config import Fields
from papertrain.facts.counting import Architecture, Parts


def parts(config: Fields) -> Parts:
    return _BY_TYPE[config.text("model_type")](config)


def mixtral(config: Fields) -> Parts:
    p = decoder(config, {"mlp": False})
    experts = config.int("num_local_experts", high=100_000)
    p.linear("gate", p.hidden, experts, place="router")
    each = config.int("num_experts_per_tok", default=2, high=100_000)
    p.moe(experts, each, p.ffn, p.layers, gate="w1", up="w3", down="w2")
    return p


def phimoe(config: Fields) -> Parts:
    """Mixtral with LayerNorms, which have a bias too."""
    p = mixtral(config)
    p.other += (2 * p.layers + 1) * p.hidden
    p.norm = "layernorm"
    if config.bool("lm_head_bias", default=False):
        p.other += p.vocab
    return p


def qwen2_moe(config: Fields) -> Parts:
    p = decoder(config, {"mlp": False, "qkv_bias": config.bool("qkv_bias", default=True)})
    sparse = sparse_layers(config, p.layers)
    routed(config, p, sparse)
    shared_expert(config, p, sparse)
    return p


def qwen3_moe(config: Fields) -> Parts:
    p = decoder(config, {"mlp": False, "qk_norm": "head"})
    routed(config, p, sparse_layers(config, p.layers))
    return p


def olmoe(config: Fields) -> Parts:
    p = decoder(config, {"mlp": False, "qk_norm": "wide"})
    experts = config.int("num_experts", high=100_000)
    p.linear("gate", p.hidden, experts, place="router")
    p.moe(experts, config.int("num_experts_per_tok", high=100_000), p.ffn, p.layers)
    return p


def shared_expert(config: Fields, p: Parts, sparse: int) -> None:
    """One expert that every token passes through, behind a gate of its own."""
    p.gated_mlp(ffn=config.int("shared_expert_intermediate_size", high=10_000_000), count=sparse)
    p.linear("shared_expert_gate", p.hidden, 1, sparse, place="router")


def sparse_layers(config: Fields, layers: int) -> int:
    step = config.int("decoder_sparse_step", default=1, high=10_000)
    dense = set(config.ints("mlp_only_layers"))
    return sum(1 for i in range(layers) if i not in dense and (i + 1) % step == 0)


def routed(config: Fields, p: Parts, sparse: int) -> None:
    """Dense layers where they are not sparse; in the sparse ones a router and its experts."""
    p.gated_mlp(count=p.layers - sparse)
    experts(config, p, sparse, config.int("num_experts", high=100_000))


def experts(config: Fields, p: Parts, sparse: int, n: int, *, shared: int | None = None) -> None:
    """`shared`: how many experts see every token where the file does not say; None for families that have none."""
    width = config.int("moe_intermediate_size", high=10_000_000)
    p.linear("gate", p.hidden, n, sparse, place="router")
    p.moe(n, config.int("num_experts_per_tok", high=100_000), width, sparse)
    always = 0 if shared is None else config.int("n_shared_experts", default=shared, low=0, high=1000)
    if always:
        p.gated_mlp(ffn=width * always, count=sparse)


def deepseek_v1(config: Fields) -> Parts:
    p = decoder(config, {"mlp": False})
    _deepseek_mlps(config, p)
    return p


def _deepseek_mlps(config: Fields, p: Parts) -> None:
    """The first layers are dense; the others have shared experts beside the routed ones."""
    n = config.int("n_routed_experts", default=0, low=0, high=100_000)
    first = config.int("first_k_dense_replace", default=0, low=0, high=10_000)
    step = config.int("moe_layer_freq", default=1, high=10_000)
    sparse = sum(1 for i in range(p.layers) if i >= first and i % step == 0) if n else 0
    p.gated_mlp(count=p.layers - sparse)
    if not sparse:
        return
    experts(config, p, sparse, n, shared=0)
    if config.text("topk_method", default="") == "noaux_tc" or config.text("model_type") in ("deepseek_v3", "kimi_k2"):
        p.other += n * sparse  # the bias that balances the experts is stored with the weights


def mla(config: Fields) -> Parts:
    """DeepSeek V2 and V3: keys and values through a low-rank bottleneck."""
    heads = config.int("num_attention_heads", high=10_000)
    nope = config.int("qk_nope_head_dim", high=100_000)
    rope = config.int("qk_rope_head_dim", high=100_000)
    value = config.int("v_head_dim", high=100_000)
    p = Parts(
        layers=config.int("num_hidden_layers", high=10_000), hidden=config.int("hidden_size", high=1_000_000), heads=heads, kv_heads=heads,
        head_dim=nope + rope, ffn=config.int("intermediate_size", high=100_000_000), vocab=config.int("vocab_size", high=100_000_000),
        activation=config.text("hidden_act", default="silu"),
    )  # fmt: skip
    h = p.hidden
    p.embedding = p.vocab * h
    bias = config.bool("attention_bias", default=False)
    rank, kv_rank = config.optional_int("q_lora_rank"), config.int("kv_lora_rank", high=1_000_000)
    if rank:
        p.linear("q_a_proj", h, rank, bias=bias, place="attention")
        p.linear("q_b_proj", rank, heads * (nope + rope), place="attention")
        p.other += rank * p.layers
    else:
        p.linear("q_proj", h, heads * (nope + rope), place="attention")
    p.linear("kv_a_proj_with_mqa", h, kv_rank + rope, bias=bias, place="attention")
    p.linear("kv_b_proj", kv_rank, heads * (nope + value), place="attention")
    p.linear("o_proj", heads * value, h, bias=bias, place="attention")
    p.other += kv_rank * p.layers
    _deepseek_mlps(config, p)
    p.norms(2)
    p.head(config.bool("tie_word_embeddings", default=False))
    p.notes.append("without the extra layer that predicts a second token, which training leaves out")
    return p


def gpt_oss(config: Fields) -> Parts:
    p = decoder(config, {"mlp": False, "bias_default": True, "head_dim": 64})
    experts = config.int("num_local_experts", high=100_000)
    p.linear("router", p.hidden, experts, bias=True, place="router")
    p.moe(experts, config.int("num_experts_per_tok", "experts_per_token", high=100_000), p.ffn, p.layers, bias=True)
    p.other += p.heads * p.layers  # one attention sink per head
    p.notes.append(
        "its experts are stored fused (gate_up_proj, down_proj), which LoRA reaches only by target_parameters"
    )
    return p


def glm4_moe(config: Fields) -> Parts:
    p = decoder(
        config,
        {
            "mlp": False,
            "qkv_bias": config.bool("attention_bias", default=False),
            "qk_norm": "head" if config.bool("use_qk_norm", default=False) else "",
        },
    )
    first = config.int("first_k_dense_replace", default=1, low=0, high=10_000)
    sparse, n = max(0, p.layers - first), config.int("n_routed_experts", high=100_000)
    p.gated_mlp(count=p.layers - sparse)
    experts(config, p, sparse, n, shared=1)
    p.other += n * sparse
    return p


_BY_TYPE = {
    "mixtral": mixtral, "phimoe": phimoe, "qwen2_moe": qwen2_moe, "qwen3_moe": qwen3_moe, "qwen3_vl_moe_text": qwen3_moe, "olmoe": olmoe, "deepseek": deepseek_v1,
    "deepseek_v2": mla, "deepseek_v3": mla, "kimi_k2": mla, "gpt_oss": gpt_oss, "glm4_moe": glm4_moe,
}  # fmt: skip

ARCHITECTURE = Architecture(id="mixture", model_types=tuple(_BY_TYPE), parts=parts)
