"""What one layer of each family keeps for its backward pass, against autograd's saved tensors in transformers on the CPU."""

from __future__ import annotations

import pytest

from papertrain.core.values import Source
from papertrain.facts.hardware import match_gpu
from papertrain.facts.spec import spec_from_config
from papertrain.plan.memory import recipe
from papertrain.plan.setup import Setup
from papertrain.plan.steps_task import attention

LENGTH, PATCHES = 256, 257
DECODER = {
    "vocab_size": 1000,
    "hidden_size": 256,
    "intermediate_size": 704,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "num_hidden_layers": 4,
    "max_position_embeddings": 512,
}
ENCODER = {
    "vocab_size": 1000,
    "hidden_size": 256,
    "intermediate_size": 1024,
    "num_attention_heads": 8,
    "num_hidden_layers": 4,
    "max_position_embeddings": 512,
}
ROUTED = {**DECODER, "head_dim": 32, "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 352}
LATENT = {
    **DECODER,
    "num_key_value_heads": 8,
    "q_lora_rank": 64,
    "kv_lora_rank": 64,
    "qk_nope_head_dim": 32,
    "qk_rope_head_dim": 16,
    "v_head_dim": 32,
    "n_routed_experts": 8,
    "num_experts_per_tok": 2,
    "n_shared_experts": 1,
    "moe_intermediate_size": 352,
    "first_k_dense_replace": 0,
}
T5 = {"vocab_size": 1000, "d_model": 256, "d_kv": 32, "num_heads": 8, "num_layers": 4, "num_decoder_layers": 4}
BART = {
    "vocab_size": 1000,
    "d_model": 256,
    "encoder_ffn_dim": 1024,
    "decoder_ffn_dim": 1024,
    "encoder_attention_heads": 8,
    "decoder_attention_heads": 8,
    "encoder_layers": 4,
    "decoder_layers": 4,
    "max_position_embeddings": 512,
}
IMAGE = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 8, "image_size": 128, "patch_size": 8}
RELATIVE = {**ENCODER, "relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_buckets": 64, "max_relative_positions": -1, "share_att_key": True,
            "type_vocab_size": 0, "norm_rel_ebd": "layer_norm", "position_biased_input": False}  # fmt: skip

# Distinct storages that autograd saves per token and layer (4 less 2 layers of each stack, 2 × 256 tokens, bf16 throughout,
# every weight trained, dropout as in the config with CUDA's masks of a byte), transformers 5.24, torch 2.13. No SDPA figure where
# the CPU falls back to a math kernel that CUDA does not need (dropout, one key head, keys and values of two widths).
COUNTED = [
    ("llama", "sdpa", DECODER, 11_048), ("llama", "eager", DECODER, 24_072), ("qwen2", "sdpa", DECODER, 11_048),
    ("qwen3", "sdpa", {**DECODER, "head_dim": 32}, 13_008), ("gemma", "sdpa", {**DECODER, "head_dim": 32}, 12_076),
    ("gemma2", "eager", {**DECODER, "head_dim": 32}, 33_304), ("gemma3_text", "sdpa", {**DECODER, "head_dim": 32}, 18_784),
    ("olmo2", "sdpa", DECODER, 14_640), ("cohere", "sdpa", DECODER, 10_534), ("granite", "sdpa", DECODER, 11_048),
    ("glm4", "sdpa", {**DECODER, "head_dim": 32}, 14_672), ("phi3", "sdpa", DECODER, 12_200), ("phi", "sdpa", {**DECODER, "num_key_value_heads": 8}, 10_660),
    ("starcoder2", "sdpa", DECODER, 6_184), ("stablelm", "sdpa", DECODER, 9_512), ("bloom", "eager", {"vocab_size": 1000, "hidden_size": 256, "n_head": 8, "n_layer": 4}, 20_488),
    ("mixtral", "sdpa", {**DECODER, "num_local_experts": 8, "num_experts_per_tok": 2}, 18_844), ("qwen3_moe", "sdpa", ROUTED, 15_156),
    ("qwen2_moe", "sdpa", {**ROUTED, "shared_expert_intermediate_size": 352}, 16_526), ("deepseek_v3", "eager", LATENT, 31_652),
    ("gpt_oss", "eager", {**DECODER, "head_dim": 32, "num_local_experts": 8, "num_experts_per_tok": 2}, 33_200),
    ("bert", "eager", ENCODER, 18_952), ("roberta", "eager", {**ENCODER, "type_vocab_size": 1}, 18_952), ("electra", "eager", {**ENCODER, "embedding_size": 256}, 18_952),
    ("distilbert", "eager", {"vocab_size": 1000, "dim": 256, "hidden_dim": 1024, "n_heads": 8, "n_layers": 4}, 18_696), ("deberta-v2", "eager", RELATIVE, 26_568),
    ("modernbert", "sdpa", ENCODER, 13_608), ("vit", "sdpa", {**IMAGE, "intermediate_size": 1024}, 8_232), ("vit", "eager", {**IMAGE, "intermediate_size": 1024}, 20_536),
    ("dinov2", "sdpa", IMAGE, 9_256), ("dinov2", "eager", IMAGE, 13_336), ("t5", "eager", {**T5, "d_ff": 1024, "feed_forward_proj": "relu"}, 30_602),
    ("t5", "eager", {**T5, "d_ff": 704, "feed_forward_proj": "gated-gelu"}, 36_042), ("bart", "eager", BART, 16_522), ("bart", "sdpa", BART, 10_426),
]  # fmt: skip


def spec(kind: str, config: dict[str, object]):
    return spec_from_config({**config, "model_type": kind}, name=kind, source=Source(kind="user", ref="made here"))


@pytest.mark.parametrize(
    ("kind", "kernel", "config", "counted"), COUNTED, ids=lambda x: str(x) if isinstance(x, str) else ""
)
def test_a_layer_keeps_what_autograd_saved(kind, kernel, config, counted):
    run = Setup(
        model=spec(kind, config), framework="pytorch loop on transformers", method="full", weights_dtype="bf16", trainable_dtype="bf16",
        autocast="none", attention=kernel,
    )  # fmt: skip
    layer = recipe(run).layer
    positions = PATCHES if run.model.kind == "vision" else LENGTH
    assert layer.kept + layer.kept_per_position * positions == pytest.approx(counted, rel=0.045)


@pytest.mark.parametrize(
    ("kind", "config"), [("deberta-v2", RELATIVE), ("gemma2", {**DECODER, "head_dim": 32}), ("t5", {**T5, "d_ff": 704})]
)
def test_a_family_without_a_fused_kernel_is_planned_and_counted_eager(kind, config):
    # transformers: "… does not support an attention implementation through torch.nn.functional.scaled_dot_product_attention yet"
    model = spec(kind, config)
    assert attention(match_gpu("A100-80GB"), model).value == "eager"
    kept = [
        recipe(Setup(model=model, framework="hf-trainer", attention=a)).layer.kept_per_position
        for a in ("eager", "sdpa", None)
    ]
    assert kept[0] == kept[1] == kept[2] > 0


def test_other_families_keep_torchs_kernel():
    assert attention(match_gpu("A100-80GB"), spec("llama", DECODER)).value == "sdpa"
