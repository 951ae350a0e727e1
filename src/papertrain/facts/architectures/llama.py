"""Llama and the many that differ from it in biases, extra norms or the shape of the MLP."""

from __future__ import annotations

from papertrain.facts.config import Fields
from papertrain.facts.counting import Architecture, Parts

# model type → what differs from Llama. tied, head_dim: what that family's config class fills in where the file is silent.
_DIFFERENT: dict[str, dict[str, object]] = {
    "qwen2": {"qkv_bias": True},
    "qwen3": {"head_dim": 128, "qk_norm": "head"},
    "qwen3_vl_text": {"head_dim": 128, "qk_norm": "head"},
    "gemma": {"head_dim": 256, "tied": True, "activation": "gelu"},
    "gemma2": {"head_dim": 256, "tied": True, "norms": 4, "activation": "gelu"},
    "gemma3_text": {"head_dim": 256, "tied": True, "norms": 4, "qk_norm": "head", "activation": "gelu"},
    "internlm": {"bias_key": "bias", "bias_default": True},
    "olmo": {"norms": 0, "final": 0},
    "olmo2": {"qk_norm": "wide"},
    "olmo3": {"qk_norm": "wide"},
    "cohere": {"tied": True, "norms": 1, "cohere_norm": True},
    "cohere2": {"tied": True, "norms": 1, "cohere_norm": True},
    "arcee": {"gated": False},
    "apertus": {"gated": False, "qk_norm": "head", "activation": "xielu", "per_layer": 2},
    "smollm3": {"tied": True},
    "mistral": {"bias_key": "none"},
    "ministral": {"bias_key": "none"},
    "internlm3": {"head_dim": 128, "bias_key": "qkv_bias", "o_bias_key": "bias", "mlp_bias_key": "bias"},
    "seed_oss": {
        "head_dim": 128,
        "bias_key": "attention_bias",
        "bias_default": True,
        "o_bias_key": "attention_out_bias",
    },
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
        head_dim=config.int("head_dim", default=_number(different, "head_dim", max(1, hidden // heads)), high=1_000_000), ffn=config.int("intermediate_size", high=100_000_000),
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
        mlp_bias = config.bool(str(different.get("mlp_bias_key", "mlp_bias")), default=False)
        if gated:
            p.gated_mlp(bias=mlp_bias)
        else:
            p.plain_mlp("up_proj", "down_proj", bias=mlp_bias)
    p.norms(_number(different, "norms", 2), final=_number(different, "final", 1))
    if different.get("qk_norm") == "head":
        p.other += 2 * p.head_dim * p.layers
    elif different.get("qk_norm") == "wide":
        p.other += (heads + p.kv_heads) * p.head_dim * p.layers
    p.other += _number(different, "per_layer", 0) * p.layers  # xIELU learns two numbers in each layer
    if different.get("cohere_norm"):
        p.norm = "layernorm"
        if config.bool("use_qk_norm", default=False):
            p.other += (heads + p.kv_heads) * p.head_dim * p.layers
    p.head(config.bool("tie_word_embeddings", default=bool(different.get("tied", False))))
    return p


def _number(different: dict[str, object], name: str, default: int) -> int:
    value = different.get(name, default)
    return value if isinstance(value, int) else default


ARCHITECTURE = Architecture(
    id="llama",
    model_types=("llama", "yi", "Yi", "granite", *_DIFFERENT),
    parts=parts,
)
