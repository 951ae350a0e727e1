"""What one layer of each stack keeps for its backward pass, against autograd's saved tensors of that stack on the CPU."""

from __future__ import annotations

import pytest

from papertrain.plan.memory import peak, recipe
from papertrain.plan.setup import Setup
from papertrain.plan.shapes import transformer

# Distinct storages that autograd saves per token and layer, bf16, width 256, 8 heads, MLP 704, rank 8, from models of 4 less 2
# layers. Taken off what only the CPU does: a dropout mask of two bytes where CUDA has one. litgpt 0.5.13 with lora_dropout 0.05; torchtune 0.6.1.
COUNTED = [
    ("litgpt", 2, "lora", ("q_proj", "v_proj"), 9_818),
    ("litgpt", 8, "lora", ("q_proj", "v_proj"), 11_232),
    ("litgpt", 2, "lora", "all-linear", 13_664),
    ("litgpt", 8, "lora", "all-linear", 14_688),
    ("torchtune", 2, "lora", ("q_proj", "v_proj"), 8_904),
    ("torchtune", 8, "lora", ("q_proj", "v_proj"), 8_904),
    ("torchtune", 2, "lora", "all-linear", 10_904),
    ("torchtune", 8, "lora", "all-linear", 10_904),
    # The norm of today's litgpt (and torch's own before its fused kernel, which torchtune 0.6 calls) keeps its normalised
    # input in fp32 where its weight is trained, 2 bytes more per unit of width and norm than the 2024 versions whose runs
    # were published; the formula follows the latter.
    ("litgpt", 2, "full", None, 13_360 - 2 * 2 * 256),
    ("litgpt", 8, "full", None, 14_384 - 2 * 2 * 256),
    ("torchtune", 2, "full", None, 12_840 - 2 * 2 * 256),
    ("torchtune", 8, "full", None, 12_840 - 2 * 2 * 256),
]  # fmt: skip


@pytest.mark.parametrize(("framework", "kv", "method", "targets", "counted"), COUNTED)
def test_a_layer_keeps_what_autograd_saved_in_that_stack(framework, kv, method, targets, counted):
    model = transformer("small", layers=4, hidden=256, heads=8, kv_heads=kv, ffn=704, vocab=1000)
    run = Setup(
        model=model, framework=framework, method=method, weights_dtype="bf16", trainable_dtype="bf16", autocast="none", lora_rank=8,
        lora_targets=targets, attention="sdpa",
    )  # fmt: skip
    assert recipe(run).layer.kept == pytest.approx(counted, rel=0.005)


# PEFT 0.21 on the Llama shape above with every matrix adapted: without dropout and with it (`torch.native_dropout`, as on
# CUDA); under autocast less 142 bytes that the adapters' own 16-bit copies come to in a run of 512 tokens
PEFT = [("bf16", "fp32", 12_184, 14_424), ("none", "bf16", 10_136, 14_424), ("none", "fp32", 16_776, 19_016)]


@pytest.mark.parametrize(("autocast", "trained", "plain", "dropped"), PEFT)
def test_dropout_of_adapters_costs_its_masks_and_the_inputs_it_parts(autocast, trained, plain, dropped):
    model = transformer("small", layers=4, hidden=256, heads=8, kv_heads=2, ffn=704, vocab=1000)

    def kept(dropout: float) -> float:
        return recipe(Setup(
            model=model, framework="pytorch loop on transformers", method="lora", weights_dtype="bf16", trainable_dtype=trained, autocast=autocast,
            lora_rank=8, lora_targets="all-linear", lora_dropout=dropout, attention="sdpa",
        )).layer.kept  # fmt: skip

    assert kept(0.0) == pytest.approx(plain, rel=0.01)
    assert kept(0.1) == pytest.approx(dropped, rel=0.01)


# The adapters' own kernels of axolotl (067b021) and unsloth (015bdef) put into transformers 5.24's Llama and run on the CPU, their
# activation in torch instead of Triton; dropout less the byte by which a CPU's mask is larger. Widths as above.
KERNELS = [
    ("axolotl", 2, 0.0, 7_208), ("axolotl", 8, 0.0, 7_976), ("axolotl", 2, 0.1, 10_280 - 3 * 256), ("axolotl", 8, 0.1, 11_048 - 3 * 256),
    ("unsloth", 2, 0.0, 6_184), ("unsloth", 8, 0.0, 6_952),
]  # fmt: skip


def adapted(framework: str, kv: int, **more: object) -> Setup:
    model = transformer("small", layers=4, hidden=256, heads=8, kv_heads=kv, ffn=704, vocab=1000)
    common = {
        "method": "lora",
        "weights_dtype": "bf16",
        "lora_rank": 8,
        "lora_targets": "all-linear",
        "attention": "sdpa",
    }
    return Setup(model=model, framework=framework, **{**common, **more})


@pytest.mark.parametrize(("autocast", "trained"), [("bf16", "fp32"), ("none", "bf16")])
@pytest.mark.parametrize(("framework", "kv", "dropout", "counted"), KERNELS)
def test_adapters_that_a_stack_computes_itself_keep_no_activation(framework, kv, dropout, counted, autocast, trained):
    run = adapted(framework, kv, lora_dropout=dropout, autocast=autocast, trainable_dtype=trained)
    assert recipe(run).layer.kept == pytest.approx(counted, rel=0.002)


@pytest.mark.parametrize(
    ("framework", "more"),
    [("axolotl", {"sharding": "fsdp1", "n_gpus": 2}), ("axolotl", {"sequences_per_example": 2}), ("axolotl", {"quantization": "int8"}),
     ("unsloth", {"lora_dropout": 0.05}), ("unsloth", {"method": "dora"})],
)  # fmt: skip
def test_where_its_kernels_do_not_apply_a_stack_keeps_what_peft_keeps(framework, more):
    assert recipe(adapted(framework, 2, **more)).layer.kept > 1.4 * recipe(adapted(framework, 2)).layer.kept


@pytest.mark.parametrize("targets", [("q_proj", "v_proj"), ("q_proj", "k_proj", "v_proj", "o_proj")])
def test_an_mlp_without_adapters_is_not_fused_and_so_keeps_more_than_one_with_them(targets):
    assert recipe(adapted("unsloth", 2, lora_targets=targets)).layer.kept > recipe(adapted("unsloth", 2)).layer.kept


# axolotl raises embedding, head and norms to fp32 and lowers them again only for flash attention or a fused loss
RAISED = [("sdpa", 2, 13_608), ("sdpa", 8, 14_376), ("flash", 2, 11_048), ("flash", 8, 11_816)]


@pytest.mark.parametrize(("attention", "kv", "counted"), RAISED)
def test_full_fine_tuning_in_axolotl_keeps_an_fp32_stream_but_with_flash_attention(attention, kv, counted):
    run = adapted("axolotl", kv, method="full", attention=attention, lora_rank=None, lora_targets=None)
    assert recipe(run).layer.kept == pytest.approx(counted, rel=0.002)


def test_an_fp32_table_is_paid_in_weights_gradients_and_moments():
    model = transformer("8b", layers=32, hidden=4096, heads=32, kv_heads=8, ffn=14336, vocab=128256)
    slow, fast = (
        recipe(Setup(model=model, framework="axolotl", method="full", attention=a)).state for a in ("sdpa", "flash")
    )
    table = 2 * 128256 * 4096
    raised = slow.weights + slow.gradients + slow.optimizer - fast.weights - fast.gradients - fast.optimizer
    assert raised == pytest.approx(8 * table, rel=0.01)  # two bytes more for each of weight, gradient and two moments


def test_the_fused_loss_of_unsloth_never_holds_more_than_four_gibibytes_of_fp32_logits():
    model = transformer("8b", layers=32, hidden=4096, heads=32, kv_heads=8, ffn=14336, vocab=128256)
    lossy = recipe(Setup(model=model, framework="unsloth", method="qlora")).loss
    assert lossy.logits(4_096) == 8 * 128256 * 4_096  # 1.96 GiB in fp32: one piece
    assert lossy.logits(16_384) == 8 * 128256 * 16_384 / 4  # 7.8 GiB: the next multiple of four pieces
    assert max(lossy.logits(n) for n in range(1, 200_000, 997)) <= 2 * 4 * 2**30


def test_unsloth_keeps_three_layer_inputs_on_the_card_from_512_tokens_on():
    model = transformer("8b", layers=32, hidden=4096, heads=32, kv_heads=8, ffn=14336, vocab=128256)
    run = recipe(Setup(model=model, framework="unsloth", method="lora"))
    one = 2 * 4096
    grown = peak(run, 1, 1024).components["activations"] - peak(run, 1, 512).components["activations"]
    near = peak(run, 1, 511).components["activations"] / 511 - peak(run, 1, 512).components["activations"] / 512
    assert grown / 512 == pytest.approx(3 * one + run.loss.hidden + one, rel=1e-6)
    assert near == pytest.approx(29 * one, rel=0.02)


def test_what_a_quantised_base_is_trained_in_follows_the_release_of_trl():
    model = transformer("8b", layers=32, hidden=4096, heads=32, kv_heads=8, ffn=14336, vocab=128256)
    old, new = (
        recipe(Setup(model=model, framework=f, method="qlora", autocast="bf16")).dtypes
        for f in ("trl 0.24", "trl 1.16.0")
    )
    assert (old.table, new.table) == (4.0, 2.0)
    assert (old.trained, new.trained) == (4.0, 2.0)
