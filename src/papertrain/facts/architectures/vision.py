"""Vision transformers, alone (ViT, DINOv2) and in front of a language model (LLaVA, Qwen-VL, Gemma 3)."""

from __future__ import annotations

from papertrain.facts.architectures.hybrid import ARCHITECTURE as HYBRID
from papertrain.facts.architectures.llama import parts as text_parts
from papertrain.facts.architectures.mixture import ARCHITECTURE as MIXTURE
from papertrain.facts.config import Fields
from papertrain.facts.counting import Architecture, Parts


def parts(config: Fields) -> Parts:
    return _BY_TYPE[config.text("model_type")](config)


def _start(config: Fields) -> Parts:
    hidden = config.int("hidden_size", high=1_000_000)
    return Parts(
        "vision", layers=config.int("num_hidden_layers", high=10_000), hidden=hidden, heads=config.int("num_attention_heads", high=10_000),
        ffn=config.int("intermediate_size", default=4 * hidden, high=100_000_000), vocab=0, norm="layernorm", gated=False,
        activation=config.text("hidden_act", default="gelu"),
    )  # fmt: skip


def _patches(config: Fields, p: Parts, *, extra: int = 1, bias: bool = True) -> None:
    """The convolution that cuts the image, its positions, and `extra` tokens with a position of their own."""
    patch, image = config.int("patch_size", high=10_000), config.int("image_size", high=100_000)
    channels = config.int("num_channels", default=3, high=1000)
    p.other += channels * patch * patch * p.hidden + (p.hidden if bias else 0)
    p.other += ((image // patch) ** 2 + extra) * p.hidden + extra * p.hidden


def vit(config: Fields) -> Parts:
    p = _start(config)
    _patches(config, p, extra=2 if config.text("model_type") == "deit" else 1)  # DeiT has a token for its teacher
    p.attention("query", "key", "value", "dense", bias=config.bool("qkv_bias", default=True), o_bias=True)
    p.plain_mlp("dense", "dense")
    p.norms(2, bias=True)
    return p


def dinov2(config: Fields) -> Parts:
    p = _start(config)
    p.ffn = p.hidden * config.int("mlp_ratio", default=4, high=1000)
    _patches(config, p)
    p.other += p.hidden  # the token that stands for masked patches
    p.attention("query", "key", "value", "dense", bias=config.bool("qkv_bias", default=True), o_bias=True)
    if config.bool("use_swiglu_ffn", default=False):
        p.gated, p.ffn = True, (int(p.ffn * 2 / 3) + 7) // 8 * 8
        p.linear("weights_in", p.hidden, 2 * p.ffn, bias=True, place="mlp")
        p.linear("weights_out", p.ffn, p.hidden, bias=True, place="mlp")
    else:
        p.plain_mlp("fc1", "fc2")
    p.norms(2, bias=True)
    p.other += 2 * p.hidden * p.layers  # one scale per channel after attention and MLP
    return p


def _clip_tower(config: Fields) -> int:
    p = _start(config)
    _patches(config, p, bias=False)
    p.attention("q_proj", "k_proj", "v_proj", "out_proj", bias=True)
    p.plain_mlp("fc1", "fc2")
    p.norms(2, bias=True, final=2)
    return _total(p)


def _siglip_tower(config: Fields, *, head: bool) -> int:
    p = _start(config)
    _patches(config, p, extra=0)
    p.attention("q_proj", "k_proj", "v_proj", "out_proj", bias=True)
    p.plain_mlp("fc1", "fc2")
    p.norms(2, bias=True)
    if head:  # attention pooling: a probe, one attention, one norm, one MLP
        h, f = p.hidden, p.ffn
        p.other += h + 4 * h * h + 4 * h + 2 * h + 2 * h * f + f + h
    return _total(p)


def _total(p: Parts) -> int:
    return p.embedding + p.other + sum(m.parameters for m in p.linears)


def _language(config: Fields) -> Parts:
    kind = config.text("model_type")
    family = next((a for a in (MIXTURE, HYBRID) if kind in a.model_types), None)
    p = family.parts(config) if family else text_parts(config)
    p.kind = "multimodal"
    p.notes.append("layers, width and matrices are the language model's; the vision tower is in the total only")
    return p


def llava(config: Fields) -> Parts:
    text, tower = config.part("text_config"), config.part("vision_config")
    p = _language(_filled(text, _TEXT_DEFAULTS))
    seen = _filled(tower, _CLIP_DEFAULTS)
    p.other += (
        _clip_tower(seen)
        if tower.text("model_type", default="clip_vision_model") == "clip_vision_model"
        else _siglip_tower(seen, head=True)
    )
    layers = config.get("vision_feature_layer", -2)
    wide = seen.int("hidden_size") * (len(layers) if isinstance(layers, list) and layers else 1)
    bias = 1 if config.bool("multimodal_projector_bias", default=True) else 0
    p.other += wide * p.hidden + p.hidden * p.hidden + 2 * bias * p.hidden
    return p


def gemma3(config: Fields) -> Parts:
    text = _filled(config.part("text_config"), {"model_type": "gemma3_text", **_GEMMA3_DEFAULTS})
    p = _language(text)
    tower = _filled(config.part("vision_config"), {"num_channels": 3})
    p.other += _siglip_tower(tower, head=tower.bool("vision_use_head", default=False))
    width = tower.int("hidden_size")
    p.other += width * p.hidden + width
    return p


def qwen2_vl(config: Fields) -> Parts:
    """Qwen2-VL and Qwen2.5-VL. Older files keep the language model's fields at the top."""
    inside = config.table.get("text_config")
    table = {**inside} if isinstance(inside, dict) else {k: v for k, v in config.table.items() if k != "vision_config"}
    table.setdefault("tie_word_embeddings", config.get("tie_word_embeddings", False))
    table["model_type"] = "qwen2"
    p = _language(Fields(table, config.where, config.prefix))
    v = config.part("vision_config")
    p.other += _qwen2_5_tower(v, p.hidden) if config.text("model_type") == "qwen2_5_vl" else _qwen2_tower(v, p.hidden)
    return p


def _qwen_patch(v: Fields, width: int) -> int:
    patch = v.int("patch_size", default=14, high=1000)
    return (
        v.int("in_channels", "in_chans", default=3, high=1000)
        * v.int("temporal_patch_size", default=2, high=100)
        * patch
        * patch
        * width
    )


def _qwen2_tower(v: Fields, out: int) -> int:
    w, depth = v.int("embed_dim", default=1280, high=1_000_000), v.int("depth", default=32, high=10_000)
    f, merged = w * v.int("mlp_ratio", default=4, high=1000), w * v.int("spatial_merge_size", default=2, high=100) ** 2
    block = 4 * w + (w * 3 * w + 3 * w) + (w * w + w) + (2 * w * f + f + w)
    return _qwen_patch(v, w) + depth * block + 2 * w + merged * merged + merged + merged * out + out


def _qwen2_5_tower(v: Fields, out: int) -> int:
    w, depth = v.int("hidden_size", default=1280, high=1_000_000), v.int("depth", default=32, high=10_000)
    f, merged = (
        v.int("intermediate_size", default=3420, high=10_000_000),
        w * v.int("spatial_merge_size", default=2, high=100) ** 2,
    )
    block = 2 * w + (w * 3 * w + 3 * w) + (w * w + w) + (3 * w * f + 2 * f + w)
    return _qwen_patch(v, w) + depth * block + w + merged * merged + merged + merged * out + out


def qwen3_vl(config: Fields) -> Parts:
    """Qwen3-VL and Qwen3.5, dense and mixtures: the tower's features also enter at some deeper layers (in Qwen3-VL)."""
    kind = config.text("model_type")
    tied = config.get("tie_word_embeddings", config.part("text_config").get("tie_word_embeddings", False))
    text = _filled(config.part("text_config"), {})
    p = _language(
        Fields({**text.table, "model_type": f"{kind}_text", "tie_word_embeddings": tied}, text.where, text.prefix)
    )
    v = config.part("vision_config")
    deep = v.get("deepstack_visual_indexes", [8, 16, 24] if kind.startswith("qwen3_vl") else [])
    if not isinstance(deep, list):
        raise v.wrong(f"{v.prefix}deepstack_visual_indexes is no list")
    p.other += _qwen3_tower(v, p.hidden, len(deep))
    return p


def _qwen3_tower(v: Fields, out: int, deep: int) -> int:
    w, depth = v.int("hidden_size", default=1152, high=1_000_000), v.int("depth", default=27, high=10_000)
    f, merged = (
        v.int("intermediate_size", default=4304, high=10_000_000),
        w * v.int("spatial_merge_size", default=2, high=100) ** 2,
    )
    patch = v.int("patch_size", default=16, high=1000)
    cut = (
        v.int("in_channels", default=3, high=1000)
        * v.int("temporal_patch_size", default=2, high=100)
        * patch
        * patch
        * w
        + w
    )
    block = 4 * w + (3 * w * w + 3 * w) + (w * w + w) + (2 * w * f + f + w)
    merger = merged * merged + merged + merged * out + out
    return (
        cut
        + v.int("num_position_embeddings", default=2304) * w
        + depth * block
        + merger
        + 2 * w
        + deep * (merger + 2 * merged)
    )


def _filled(config: Fields, defaults: dict[str, object]) -> Fields:
    """What the config class fills in where a released file leaves a field out."""
    return Fields({**defaults, **{k: v for k, v in config.table.items() if v is not None}}, config.where, config.prefix)


_TEXT_DEFAULTS: dict[str, object] = {
    "model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 32000,
}  # fmt: skip
_CLIP_DEFAULTS: dict[str, object] = {"num_channels": 3}
_GEMMA3_DEFAULTS: dict[str, object] = {
    "vocab_size": 262_208,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 256,
}

_BY_TYPE = {
    "vit": vit, "deit": vit, "dinov2": dinov2, "llava": llava, "gemma3": gemma3, "qwen2_vl": qwen2_vl, "qwen2_5_vl": qwen2_vl,
    "qwen3_vl": qwen3_vl, "qwen3_vl_moe": qwen3_vl, "qwen3_5": qwen3_vl, "qwen3_5_moe": qwen3_vl,
}  # fmt: skip

ARCHITECTURE = Architecture(id="vision", model_types=tuple(_BY_TYPE), parts=parts)
