"""What one layer of each stack keeps for its backward pass, against autograd's saved tensors of that stack on the CPU."""

from __future__ import annotations

import pytest

from papertrain.plan.memory import recipe
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
