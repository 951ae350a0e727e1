"""BERT and its kin. What is counted is the encoder as `AutoModel` builds it; `with_classifier` puts a head on it."""

from __future__ import annotations

from papertrain.facts.config import Fields
from papertrain.facts.counting import Architecture, Parts


def parts(config: Fields) -> Parts:
    return _BY_TYPE[config.text("model_type")](config)


def _start(config: Fields, **keys: str) -> Parts:
    def key(name: str) -> str:
        return keys.get(name, name)

    p = Parts(
        "encoder", layers=config.int(key("num_hidden_layers"), high=10_000), hidden=config.int(key("hidden_size"), high=1_000_000),
        heads=config.int(key("num_attention_heads"), high=10_000), ffn=config.int(key("intermediate_size"), high=100_000_000),
        vocab=config.int("vocab_size", high=100_000_000), norm="layernorm", gated=False,
        activation=config.text("hidden_act", "hidden_activation", "activation", default="gelu"),
    )  # fmt: skip
    return p


def _blocks(
    p: Parts,
    q: str = "query",
    k: str = "key",
    v: str = "value",
    out: str = "dense",
    up: str = "dense",
    down: str = "dense",
) -> None:
    """Post-norm blocks with biases everywhere. BERT calls three of its matrices `dense`, as LoRA targets see them."""
    p.attention(q, k, v, out, bias=True)
    p.plain_mlp(up, down)
    p.norms(2, bias=True, final=0)


def _embed(
    config: Fields, p: Parts, *, width: int | None = None, positions: int | None = None, types: int | None = None
) -> None:
    w = width or p.hidden
    p.embedding = p.vocab * w
    n = config.int("max_position_embeddings", default=512) if positions is None else positions
    t = config.int("type_vocab_size", default=2, low=0) if types is None else types
    p.other += (n + t + 2) * w  # positions, token types, and the norm after them


def bert(config: Fields) -> Parts:
    p = _start(config)
    _embed(config, p)
    _blocks(p)
    p.linear("pooler.dense", p.hidden, p.hidden, 1, bias=True)
    return p


def mpnet(config: Fields) -> Parts:
    p = _start(config)
    _embed(config, p, types=0)
    p.other += config.int("relative_attention_num_buckets", default=32) * p.heads
    _blocks(p, "q", "k", "v", "o")
    p.linear("pooler.dense", p.hidden, p.hidden, 1, bias=True)
    return p


def distilbert(config: Fields) -> Parts:
    p = _start(
        config,
        num_hidden_layers="n_layers",
        hidden_size="dim",
        num_attention_heads="n_heads",
        intermediate_size="hidden_dim",
    )
    _embed(config, p, types=0)
    _blocks(p, "q_lin", "k_lin", "v_lin", "out_lin", "lin1", "lin2")
    return p


def electra(config: Fields) -> Parts:
    p = _start(config)
    width = config.int("embedding_size", default=p.hidden, high=1_000_000)
    _embed(config, p, width=width)
    if width != p.hidden:
        p.linear("embeddings_project", width, p.hidden, 1, bias=True)
    _blocks(p)
    return p


def albert(config: Fields) -> Parts:
    """Its layers share their weights: stored once per group, used in every layer."""
    p = _start(config)
    width = config.int("embedding_size", default=128, high=1_000_000)
    groups = config.int("num_hidden_groups", default=1, high=10_000) * config.int(
        "inner_group_num", default=1, high=10_000
    )
    _embed(config, p, width=width)
    p.linear("embedding_hidden_mapping_in", width, p.hidden, 1, bias=True)
    for name, inputs, outputs in (
        ("query", p.hidden, p.hidden),
        ("key", p.hidden, p.hidden),
        ("value", p.hidden, p.hidden),
        ("dense", p.hidden, p.hidden),
    ):
        p.linear(name, inputs, outputs, groups, active=p.layers, bias=True, place="attention")
    p.linear("ffn", p.hidden, p.ffn, groups, active=p.layers, bias=True, place="mlp")
    p.linear("ffn_output", p.ffn, p.hidden, groups, active=p.layers, bias=True, place="mlp")
    p.other += 4 * p.hidden * groups
    p.linear("pooler", p.hidden, p.hidden, 1, bias=True)
    return p


def deberta_v2(config: Fields) -> Parts:
    """DeBERTa v2 and v3: relative positions shared by all layers, no absolute ones."""
    p = _start(config)
    width = config.int("embedding_size", default=p.hidden, high=1_000_000)
    absolute = (
        config.int("max_position_embeddings", default=512) if config.bool("position_biased_input", default=True) else 0
    )
    _embed(config, p, width=width, positions=absolute, types=config.int("type_vocab_size", default=0, low=0))
    if width != p.hidden:
        p.linear("embed_proj", width, p.hidden, 1)
    _blocks(p, "query_proj", "key_proj", "value_proj")
    if config.bool("relative_attention", default=False):
        _relative(config, p)
    if "layer_norm" in config.text("norm_rel_ebd", default="none"):
        p.other += 2 * p.hidden
    kernel = config.int("conv_kernel_size", default=0, low=0, high=1000)
    if kernel:
        p.other += p.hidden * p.hidden * kernel // config.int("conv_groups", default=1, high=10_000) + 3 * p.hidden
    return p


def _kinds(config: Fields) -> tuple[str, ...]:
    """`"p2c|c2p"` or a list of the two."""
    value = config.get("pos_att_type", "")
    return tuple(value.split("|")) if isinstance(value, str) else config.texts("pos_att_type")


def _relative(config: Fields, p: Parts) -> None:
    reach = config.int("max_relative_positions", default=-1, low=-1)
    reach = reach if reach >= 1 else config.int("max_position_embeddings", default=512)
    buckets = config.int("position_buckets", default=-1, low=-1)
    p.other += 2 * (buckets if buckets > 0 else reach) * p.hidden
    kinds = _kinds(config)
    if not config.bool("share_att_key", default=False):
        if "c2p" in kinds:
            p.linear("pos_key_proj", p.hidden, p.hidden, bias=True, place="attention")
        if "p2c" in kinds:
            p.linear("pos_query_proj", p.hidden, p.hidden, place="attention", bias=True)


def deberta(config: Fields) -> Parts:
    p = _start(config)
    absolute = (
        config.int("max_position_embeddings", default=512) if config.bool("position_biased_input", default=True) else 0
    )
    _embed(config, p, positions=absolute, types=config.int("type_vocab_size", default=0, low=0))
    h = p.hidden
    p.linear("in_proj", h, 3 * h, place="attention")
    p.other += 2 * h * p.layers  # the biases of q and v
    p.linear("dense", h, h, bias=True, place="attention")
    p.plain_mlp("dense", "dense")
    p.norms(2, bias=True, final=0)
    if config.bool("relative_attention", default=False):
        reach = config.int("max_relative_positions", default=-1, low=-1)
        p.other += 2 * (reach if reach >= 1 else config.int("max_position_embeddings", default=512)) * h
        kinds = _kinds(config)
        if "c2p" in kinds:
            p.linear("pos_proj", h, h, place="attention")
        if "p2c" in kinds:
            p.linear("pos_q_proj", h, h, bias=True, place="attention")
    return p


def modernbert(config: Fields) -> Parts:
    p = _start(config)
    p.gated = True
    p.embedding = p.vocab * p.hidden
    biases = {name: config.bool(name, default=False) for name in ("attention_bias", "mlp_bias", "norm_bias")}
    p.linear("Wqkv", p.hidden, 3 * p.hidden, bias=biases["attention_bias"], place="attention")
    p.linear("Wo", p.hidden, p.hidden, bias=biases["attention_bias"], place="attention")
    p.linear("Wi", p.hidden, 2 * p.ffn, bias=biases["mlp_bias"], place="mlp")
    p.linear("Wo", p.ffn, p.hidden, bias=biases["mlp_bias"], place="mlp")
    # The first layer has no norm before its attention; one follows the embedding, one ends the stack.
    p.other += (2 * p.layers - 1 + 2) * p.hidden * (2 if biases["norm_bias"] else 1)
    return p


_BY_TYPE = {
    "bert": bert, "roberta": bert, "xlm-roberta": bert, "camembert": bert, "ernie": bert, "mpnet": mpnet, "distilbert": distilbert, "electra": electra,
    "albert": albert, "deberta-v2": deberta_v2, "deberta": deberta, "modernbert": modernbert,
}  # fmt: skip

ARCHITECTURE = Architecture(id="encoders", model_types=tuple(_BY_TYPE), parts=parts)
