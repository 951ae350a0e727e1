"""Small random shapes of every family, counted by us and built by transformers on meta."""

from __future__ import annotations

import random

import pytest

from papertrain.core.values import Source
from papertrain.facts.spec import architectures, spec_from_config

LLAMAS = [
    "llama",
    "mistral",
    "qwen2",
    "qwen3",
    "gemma",
    "gemma2",
    "gemma3_text",
    "granite",
    "cohere",
    "cohere2",
    "olmo",
    "olmo2",
    "olmo3",
    "smollm3",
    "seed_oss",
    "arcee",
    "apertus",
    "internlm3",
    "phi3",
    "phi",
    "starcoder2",
    "stablelm",
]
MIXTURES = [
    "mixtral",
    "phimoe",
    "qwen2_moe",
    "qwen3_moe",
    "olmoe",
    "qwen3_next",
    "qwen3_5_text",
    "qwen3_5_moe_text",
    "deepseek_v2",
    "deepseek_v3",
    "glm4_moe",
    "gpt_oss",
]
GPTS = ["gpt2", "gpt_bigcode", "gptj", "bloom", "opt", "falcon", "gpt_neox", "glm", "glm4"]
ENCODERS = [
    "bert",
    "roberta",
    "xlm-roberta",
    "camembert",
    "electra",
    "albert",
    "mpnet",
    "distilbert",
    "deberta",
    "deberta-v2",
    "modernbert",
]
OTHERS = ["t5", "mt5", "umt5", "bart", "mbart", "whisper", "vit", "deit", "dinov2"]


def shape(kind: str, rng: random.Random) -> dict[str, object]:
    """A config with that family's switches thrown at random."""

    def coin() -> bool:
        return rng.random() < 0.5

    heads = rng.choice([4, 8])
    c: dict[str, object] = {
        "vocab_size": rng.choice([100, 131]), "hidden_size": rng.choice([64, 96]), "intermediate_size": rng.choice([128, 160]), "num_hidden_layers": rng.choice([3, 4]),
        "num_attention_heads": heads, "num_key_value_heads": rng.choice([1, 2, 4]), "max_position_embeddings": 64, "tie_word_embeddings": coin(),
        "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "attention_bias": coin(),
    }  # fmt: skip
    plain = {
        "vocab_size": 100,
        "hidden_size": 64,
        "intermediate_size": 100,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "max_position_embeddings": 70,
    }
    routed = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 48}
    latent = {"q_lora_rank": rng.choice([None, 24]), "kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 8, "n_routed_experts": 4,
              "num_experts_per_tok": 2, "n_shared_experts": rng.choice([1, 2]), "moe_intermediate_size": 32, "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1}  # fmt: skip
    linear = {
        "head_dim": 16,
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 4,
        "linear_key_head_dim": 8,
        "linear_value_head_dim": 16,
    }
    two_stacks = {"vocab_size": 100, "d_model": 64, "encoder_layers": 2, "decoder_layers": 3, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
                  "encoder_ffn_dim": 100, "decoder_ffn_dim": 90, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}  # fmt: skip
    t5 = {"vocab_size": 100, "d_model": 64, "d_ff": 100, "num_layers": 2, "num_decoder_layers": 3, "num_heads": 4, "d_kv": 8,
          "feed_forward_proj": rng.choice(["relu", "gated-gelu"]), "tie_word_embeddings": True}  # fmt: skip
    vision = {
        "hidden_size": 64,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "patch_size": 8,
        "image_size": 32,
        "num_channels": 3,
        "qkv_bias": coin(),
    }
    gpt = {
        "vocab_size": 100,
        "n_embd": 64,
        "n_layer": 3,
        "n_head": 4,
        "n_positions": 64,
        "tie_word_embeddings": coin(),
        "n_inner": rng.choice([None, 100]),
    }
    deberta = {**plain, "type_vocab_size": rng.choice([0, 2]), "relative_attention": coin(), "position_biased_input": coin(),
               "pos_att_type": rng.choice([["c2p", "p2c"], ["c2p"], []]), "max_relative_positions": rng.choice([-1, 40])}  # fmt: skip
    special: dict[str, dict[str, object]] = {
        "qwen3": {**c, "head_dim": rng.choice([8, 32])}, "gemma": {**c, "head_dim": 16}, "gemma2": {**c, "head_dim": 16}, "gemma3_text": {**c, "head_dim": 32},
        "llama": {**c, "mlp_bias": coin(), "head_dim": rng.choice([8, 16])}, "granite": {**c, "mlp_bias": coin()}, "arcee": {**c, "mlp_bias": coin()},
        "seed_oss": {**c, "attention_out_bias": coin()}, "cohere": {**c, "use_qk_norm": coin()}, "internlm3": {**c, "qkv_bias": c["tie_word_embeddings"], "bias": c["tie_word_embeddings"]},
        "phi": {**c, "qk_layernorm": coin()}, "starcoder2": {**c, "use_bias": coin()}, "glm": {**c, "head_dim": 16}, "glm4": {**c, "head_dim": 16},
        "stablelm": {**c, "use_qkv_bias": coin(), "qk_layernorm": coin(), "use_parallel_residual": coin()},
        "mixtral": {**{k: v for k, v in c.items() if k != "attention_bias"}, "num_local_experts": 4, "num_experts_per_tok": 2},
        "phimoe": {**c, "num_local_experts": 4, "num_experts_per_tok": 2, "lm_head_bias": coin()},
        "gpt_oss": {**c, "num_local_experts": 4, "num_experts_per_tok": 2, "head_dim": 16},
        "qwen2_moe": {**c, **routed, "shared_expert_intermediate_size": 40, "decoder_sparse_step": rng.choice([1, 2]), "mlp_only_layers": rng.choice([[], [0]])},
        "qwen3_moe": {**c, **routed, "decoder_sparse_step": rng.choice([1, 2]), "mlp_only_layers": rng.choice([[], [0]])}, "olmoe": {**c, **routed},
        "qwen3_next": {**c, **routed, **linear, "shared_expert_intermediate_size": 40, "mlp_only_layers": rng.choice([[], [0]])},
        "qwen3_5_text": {**c, **linear}, "qwen3_5_moe_text": {**c, **routed, **linear, "shared_expert_intermediate_size": 40},
        "deepseek_v2": {**c, **latent}, "deepseek_v3": {**c, **latent}, "glm4_moe": {**c, **latent, "use_qk_norm": coin(), "head_dim": 16},
        "gpt2": gpt, "gpt_bigcode": {**gpt, "multi_query": coin()}, "gptj": {**gpt, "rotary_dim": 8},
        "bloom": {"vocab_size": 100, "hidden_size": 64, "n_layer": 3, "n_head": 4, "tie_word_embeddings": coin()},
        "falcon": {**c, "new_decoder_architecture": coin(), "multi_query": coin(), "parallel_attn": coin(), "bias": coin(), "num_kv_heads": 2},
        "opt": {"vocab_size": 100, "hidden_size": 64, "ffn_dim": 128, "num_hidden_layers": 3, "num_attention_heads": 4, "max_position_embeddings": 64,
                "word_embed_proj_dim": rng.choice([64, 32]), "do_layer_norm_before": coin(), "enable_bias": coin(), "tie_word_embeddings": coin()},
        "electra": {**plain, "embedding_size": rng.choice([64, 32])}, "mpnet": plain,
        "albert": {**plain, "embedding_size": 32, "num_hidden_groups": rng.choice([1, 3]), "inner_group_num": rng.choice([1, 2])},
        "distilbert": {"vocab_size": 100, "dim": 64, "hidden_dim": 100, "n_layers": 3, "n_heads": 4, "max_position_embeddings": 70}, "deberta": deberta,
        "deberta-v2": {**deberta, "position_buckets": rng.choice([-1, 16]), "norm_rel_ebd": rng.choice(["none", "layer_norm"]), "share_att_key": coin(), "conv_kernel_size": rng.choice([0, 3])},
        "modernbert": {**plain, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2, "attention_bias": coin(), "mlp_bias": coin(), "norm_bias": coin()},
        "t5": t5, "mt5": t5, "umt5": t5, "bart": two_stacks, "mbart": two_stacks,
        "whisper": {**two_stacks, "num_mel_bins": 20, "max_source_positions": 30, "max_target_positions": 20},
        "vit": {**vision, "intermediate_size": 100}, "deit": {**vision, "intermediate_size": 100}, "dinov2": {**vision, "use_swiglu_ffn": coin()},
    }  # fmt: skip
    return special.get(kind, {**plain, "type_vocab_size": rng.choice([1, 2])} if kind in ENCODERS else c)


def test_every_family_that_transformers_knows_is_tried():
    not_in_transformers = {
        "Yi",
        "yi",
        "baichuan",
        "chatglm",
        "deepseek",
        "internlm",
        "internlm2",
        "kimi_k2",
        "qwen",
        "RefinedWeb",
        "RefinedWebModel",
        "stablelm_epoch",
    }
    by_catalogue = {
        "gpt_neo",
        "mpt",
        "llava",
        "gemma3",
        "qwen2_vl",
        "qwen2_5_vl",
        "qwen3_vl",
        "qwen3_vl_moe",
        "qwen3_vl_text",
        "qwen3_vl_moe_text",
        "qwen3_5",
        "qwen3_5_moe",
        "ernie",
        "ministral",
    }
    assert set(architectures()) == {*LLAMAS, *MIXTURES, *GPTS, *ENCODERS, *OTHERS} | not_in_transformers | by_catalogue


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*LLAMAS, *MIXTURES, *GPTS, *ENCODERS, *OTHERS])
def test_counts_equal_what_transformers_builds(kind):
    transformers = pytest.importorskip("transformers", reason="needs transformers and torch")
    torch = pytest.importorskip("torch")
    if kind not in transformers.CONFIG_MAPPING:
        pytest.skip(f"this transformers does not know {kind}")
    rng = random.Random(kind)
    for _ in range(6):
        config = shape(kind, rng)
        spec = spec_from_config({**config, "model_type": kind}, name="x", source=Source(kind="user", ref="made here"))
        auto = {
            "causal": "AutoModelForCausalLM",
            "encoder-decoder": "AutoModelForSeq2SeqLM",
            "speech": "AutoModelForSpeechSeq2Seq",
        }.get(spec.kind, "AutoModel")
        with torch.device("meta"):
            model = getattr(transformers, auto).from_config(
                transformers.AutoConfig.for_model(kind, **config),
                **({"add_pooling_layer": False} if kind in ("vit", "deit") else {}),
            )
        built = sum(p.numel() for p in model.parameters()) + sum(
            b.numel() for n, b in model.named_buffers() if n.endswith("e_score_correction_bias")
        )
        assert built == spec.parameters, config
