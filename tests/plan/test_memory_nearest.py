"""The measured runs that are named beside an estimate."""

from __future__ import annotations

import time

from patience import quick

from papertrain.facts.hardware import match_gpu
from papertrain.facts.models import find_model
from papertrain.plan.memory import predict
from papertrain.plan.memory_nearest import nearest, with_basis
from papertrain.plan.setup import Setup
from papertrain.plan.shapes import transformer


def test_a_measured_run_is_nearest_to_itself() -> None:
    run = Setup(
        model=find_model("mistralai/Mistral-7B-v0.1"), gpu=match_gpu("A100-80GB"), framework="trl (hf-trainer)", method="lora", quantization="none",
        weights_dtype="bf16", autocast="none", lora_rank=16, lora_targets=("q_proj", "k_proj", "v_proj", "o_proj"), micro_batch_size=4,
        sequence_length=4096, gradient_checkpointing="full", attention="flash", loss="full_logits",
    )  # fmt: skip
    first = nearest(run)[0]
    assert "[fms-" in first
    assert "Mistral-7B-v0.1, lora, 1x A100-80GB, 4 x 4096 tokens" in first
    assert "24.9 GiB allocated measured" in first


def test_a_run_that_nobody_measured_says_so() -> None:
    huge = transformer("huge", layers=160, hidden=16384, vocab=256000)
    (line,) = nearest(
        Setup(
            model=huge,
            method="full",
            sharding="zero3",
            n_gpus=512,
            framework="new",
            gradient_checkpointing="none",
            offload="optimizer",
        )
    )
    assert "none of the measured runs" in line
    assert "--smoke" in line


def test_the_basis_names_profile_and_runs_quickly() -> None:
    run = Setup(
        model=find_model("meta-llama/Llama-3.1-8B"),
        method="qlora",
        framework="llamafactory",
        gradient_checkpointing="full",
    )
    with_basis(predict(run), run)
    start = time.process_time()
    memory = with_basis(predict(run), run)
    assert quick(time.process_time() - start, 0.1)
    assert memory.basis[0].startswith("profile llamafactory")
    assert 2 <= len(memory.basis) <= 4
