"""Encoder-decoders: T5, BART, Whisper. `layers` counts both stacks."""

from __future__ import annotations

from papertrain.core.models import ModelKind
from papertrain.facts.config import Fields
from papertrain.facts.counting import Architecture, Parts


def parts(config: Fields) -> Parts:
    return _BY_TYPE[config.text("model_type")](config)


def t5(config: Fields) -> Parts:
    encoder = config.int("num_layers", high=10_000)
    decoder = config.int("num_decoder_layers", default=encoder, high=10_000)
    act = config.text("feed_forward_proj", default="relu")
    gated = act.startswith("gated-")
    p = Parts(
        "encoder-decoder", layers=encoder + decoder, hidden=config.int("d_model", high=1_000_000), heads=config.int("num_heads", high=10_000),
        head_dim=config.int("d_kv", default=64, high=100_000), ffn=config.int("d_ff", high=100_000_000), vocab=config.int("vocab_size", high=100_000_000),
        gated=gated, activation="gelu_new" if act == "gated-gelu" else act.removeprefix("gated-"),
    )  # fmt: skip
    p.embedding = p.vocab * p.hidden
    blocks = encoder + 2 * decoder  # the decoder also attends to the encoder
    p.attention("q", "k", "v", "o", count=blocks)
    if gated:
        p.gated_mlp("wi_0", "wi_1", "wo")
    else:
        p.plain_mlp("wi", "wo", bias=False)
    p.other += (2 * encoder + 3 * decoder + 2) * p.hidden
    stacks = encoder + decoder if config.text("model_type") == "umt5" else 2
    p.other += stacks * config.int("relative_attention_num_buckets", default=32) * p.heads
    p.head(config.bool("tie_word_embeddings", default=True))
    return p


def _bart_like(config: Fields, kind: ModelKind) -> tuple[Parts, int, int]:
    encoder, decoder = config.int("encoder_layers", high=10_000), config.int("decoder_layers", high=10_000)
    p = Parts(
        kind, layers=encoder + decoder, hidden=config.int("d_model", high=1_000_000), heads=config.int("encoder_attention_heads", high=10_000),
        ffn=config.int("encoder_ffn_dim", high=100_000_000), vocab=config.int("vocab_size", high=100_000_000), norm="layernorm", gated=False,
        activation=config.text("activation_function", default="gelu"),
    )  # fmt: skip
    p.embedding = p.vocab * p.hidden
    return p, encoder, decoder


def _stacks(config: Fields, p: Parts, encoder: int, decoder: int, *, k_bias: bool) -> None:
    p.attention("q_proj", "k_proj", "v_proj", "out_proj", bias=True, k_bias=k_bias, count=encoder + 2 * decoder)
    p.plain_mlp("fc1", "fc2", count=encoder)
    p.plain_mlp("fc1", "fc2", count=decoder, ffn=config.int("decoder_ffn_dim", default=p.ffn, high=100_000_000))
    p.other += (2 * encoder + 3 * decoder) * 2 * p.hidden


def bart(config: Fields) -> Parts:
    p, encoder, decoder = _bart_like(config, "encoder-decoder")
    _stacks(config, p, encoder, decoder, k_bias=True)
    p.other += 2 * (config.int("max_position_embeddings", default=1024) + 2) * p.hidden
    norms = 4 if config.text("model_type") == "mbart" else 2  # mBART ends each stack with one more
    p.other += norms * 2 * p.hidden
    p.head(config.bool("tie_word_embeddings", default=True))
    return p


def whisper(config: Fields) -> Parts:
    p, encoder, decoder = _bart_like(config, "speech")
    _stacks(config, p, encoder, decoder, k_bias=False)
    p.other += (
        config.int("max_source_positions", default=1500) + config.int("max_target_positions", default=448)
    ) * p.hidden
    p.other += 3 * p.hidden * (config.int("num_mel_bins", default=80) + p.hidden) + 2 * p.hidden  # two convolutions
    p.other += 2 * 2 * p.hidden
    p.head(config.bool("tie_word_embeddings", default=True), "proj_out")
    return p


_BY_TYPE = {"t5": t5, "mt5": t5, "umt5": t5, "bart": bart, "mbart": bart, "whisper": whisper}

ARCHITECTURE = Architecture(id="seq2seq", model_types=tuple(_BY_TYPE), parts=parts)
