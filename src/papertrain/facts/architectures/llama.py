"""Llama and the many that differ from it in biases, extra norms or the shape of the MLP."""

from __future__ import annotations

from papertrain.facts.config import Fields
from papertrain.facts.counting import Architecture, Parts

# model type → what differs from Llama. tied: the default of that family's config class, where the file is silent.
_DIFFERENT: dict[str, dict[str, object]] = {
    "qwen2": {"qkv_bias": True},
    "qwen3": {"qk_norm": "head"},
    "gemma": {"tied": True, "activation": "gelu"},
    "gemma2": {"tied": True, "norms": 4, "activation": "gelu"},
    "gemma3_text": {"tied": True, "norms": 4, "qk_norm": "head", "activation": "gelu"},
    "internlm": {"bias_key": "bias", "bias_default": True},
    "olmo": {"norms": 0, "final": 0},
    "olmo2": {"qk_norm": "wide"},
    "olmo3": {"qk_norm": "wide"},
    "cohere": {"tied": True, "norms": 1, "cohere_norm": True},
    "cohere2": {"tied": True, "norms": 1, "cohere_norm": True},
    "arcee": {"gated": False},
    "apertus": {"gated": False, "qk_norm": "head", "activation": "xielu", "per_layer": 2},
    "smollm3": {"tied": True},
    "helium": {},
    "seed_oss": {"bias_key": "attention_bias", "bias_default": True, "o_bias_key": "attention_out_bias"},
}


def parts(config: Fields) -> Parts:
    different = _DIFFERENT.get(config.text("model_type", default="llama"), {})
    return decoder(config, different)


def decoder(config: Fields, different: dict[str, object]) -> Parts:
    """One dense decoder. Mixture models take its attention and put their own MLP in (`mlp=False`)."""
    heads = config.int("num_attention_heads", high=10_000)
    hidden = config.int("hidden_size", high=1_000_000)
    gated = bool(different.get("gated", True))
    p = Parts(
        layers=config.int("num_hidden_layers", high=10_000), hidden=hidden, heads=heads, kv_heads=config.int("num_key_value_heads", default=heads, high=10_000),
        head_dim=config.int("head_dim", default=max(1, hidden // heads), high=1_000_000), ffn=config.int("intermediate_size", high=100_000_000),
        vocab=config.int("vocab_size", high=100_000_000), gated=gated,
        activation=config.text("hidden_act", "hidden_activation", default=str(different.get("activation", "silu"))),
    )  # fmt: skip
    p.embedding = p.vocab * hidden
    bias = config.bool(
        str(different.get("bias_key", "attention_bias")), default=bool(different.get("bias_default", False))
    )
    qkv_bias = bool(different.get("qkv_bias", bias))
    o_key = different.get("o_bias_key")
    o_bias = config.bool(str(o_key), default=False) if o_key else bias and not different.get("qkv_bias")
    p.attention("q_proj", "k_proj", "v_proj", "o_proj", bias=qkv_bias, o_bias=o_bias)
    if different.get("mlp", True):
        mlp_bias = config.bool("mlp_bias", default=False)
        if gated:
            p.gated_mlp(bias=mlp_bias)
        else:
            p.plain_mlp("up_proj", "down_proj", bias=mlp_bias)
    p.norms(int(str(different.get("norms", 2))), final=int(str(different.get("final", 1))))
    if different.get("qk_norm") == "head":
        p.other += 2 * p.head_dim * p.layers
    elif different.get("qk_norm") == "wide":
        p.other += (heads + p.kv_heads) * p.head_dim * p.layers
    p.other += int(str(different.get("per_layer", 0))) * p.layers  # xIELU learns two numbers in each layer
    if different.get("cohere_norm"):
        p.norm = "layernorm"
        if config.bool("use_qk_norm", default=False):
            p.other += (heads + p.kv_heads) * p.head_dim * p.layers
    p.head(config.bool("tie_word_embeddings", default=bool(different.get("tied", False))))
    return p


ARCHITECTURE = Architecture(
    id="llama",
    model_types=("llama", "mistral", "ministral", "yi", "Yi", "granite", *_DIFFERENT),
    parts=parts,
)
