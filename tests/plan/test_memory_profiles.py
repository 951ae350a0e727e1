"""Framework profiles: found by any name, every one with a source, and the ones without measurements lean up."""

from __future__ import annotations

import re

import pytest

from papertrain.facts.profiles import find_profile, profiles
from papertrain.plan.memory import predict
from papertrain.plan.setup import Setup
from papertrain.plan.shapes import transformer


@pytest.mark.parametrize(
    ("words", "id"),
    [("trl (hf-trainer)", "trl"), ("hf-trainer", "hf-trainer"), ("LLaMA-Factory", "llamafactory"), ("llamafactory", "llamafactory"),
     ("pytorch loop on transformers", "peft-loop"), ("arctic-training (deepspeed)", "deepspeed"), ("llm-foundry (composer)", "llm-foundry"),
     ("trl 1.16.0", "trl-1"), ("trl 0.24.0", "trl"), ("fsdp_qlora script", "fsdp-qlora"), ("ms-swift 2.x", "ms-swift"), ("litgpt", "litgpt"), ("megatron-deepspeed", "deepspeed"),
     ("something new", "unknown"), ("", "unknown"), (None, "unknown")],
)  # fmt: skip
def test_a_framework_is_known_by_the_words_of_its_users(words: str | None, id: str) -> None:
    assert find_profile(words).id == id


def test_no_two_profiles_claim_the_same_words() -> None:
    names = [n for p in profiles().values() for n in p.names]
    assert len(names) == len(set(names))
    assert all(n == " ".join(re.findall(r"[a-z0-9.]+", n)) for n in names)


@pytest.mark.parametrize("id", sorted(profiles()))
def test_every_profile_has_a_source(id: str) -> None:
    p = profiles()[id]
    assert p.label
    assert p.sources
    assert all(s.ref for s in p.sources.values())
    assert p.widen_up >= p.widen_down


@pytest.mark.parametrize("id", sorted(profiles()))
def test_a_source_speaks_for_the_whole_profile_or_for_one_of_its_keys(id: str) -> None:
    p = profiles()[id]
    assert set(p.sources) - {"profile"} <= set(p.__struct_fields__)
    assert "profile" in p.sources


@pytest.mark.parametrize(
    "id", ["axolotl", "unsloth", "ms-swift", "llm-foundry", "litgpt", "torchtune", "llamafactory", "trl", "trl-1"]
)
def test_profiles_that_were_read_name_repository_commit_and_line(id: str) -> None:
    source = profiles()[id].sources["profile"]
    assert source.kind == "code"
    assert source.read_on is not None
    assert re.search(r"[\w.-]+/[\w.-]+(@[0-9a-f]{40}| \d+\.\d+\.\d+):", source.ref)


def test_only_the_profile_of_nobody_is_unknown() -> None:
    assert [p.id for p in profiles().values() if not p.known] == ["unknown"]


def test_a_stack_that_nobody_has_read_is_not_taken_to_raise_a_quantised_model_to_fp32():
    # PEFT's preparation is called by TRL and the Trainer's examples; axolotl, litgpt, torchtune, unsloth, LLaMA-Factory do not
    llama = transformer("8b", layers=32, hidden=4096, heads=32, kv_heads=8, ffn=14336, vocab=128256)
    common = {"model": llama, "method": "qlora", "quantization": "nf4", "micro_batch_size": 1, "sequence_length": 512}
    stranger, plain, raised = (
        predict(Setup(**common, framework="a trainer of my own", upcast=u)) for u in (None, False, True)
    )
    assert stranger.allocated_bytes.value == plain.allocated_bytes.value < raised.allocated_bytes.value
    assert stranger.allocated_bytes.high > raised.allocated_bytes.value
