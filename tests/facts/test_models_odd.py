"""config.json as people have it: stretched positions, stored quantisation, nested and odd fields."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from papertrain.core.errors import PapertrainError
from papertrain.facts.hardware import parse_compute
from papertrain.facts.models import find_model
from papertrain.plan.derive import derive
from papertrain.plan.derive_question import Question

QWEN: dict[str, Any] = {
    "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
    "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064, "tie_word_embeddings": False, "max_position_embeddings": 32768,
}  # fmt: skip


def model(tmp_path: Path, **fields: Any):
    (tmp_path / "config.json").write_text(json.dumps({k: v for k, v in {**QWEN, **fields}.items() if v != "leave out"}))
    return find_model(str(tmp_path))


def planned(m: Any, **more: Any):
    return derive(Question(model=m, compute=parse_compute("1x RTX4090"), dataset=None, task="sft", **more), ways=False)


@pytest.mark.parametrize(
    "rope",
    [{"rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}},
     {"rope_scaling": {"rope_type": "llama3", "factor": 8.0}}, {"rope_scaling": {"type": "linear", "factor": 2.0}},
     {"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e6, "factor": 4.0}}],
)  # fmt: skip
def test_stretched_positions_let_a_longer_sequence_pass(tmp_path: Path, rope: dict[str, Any]) -> None:
    m = model(tmp_path, **rope)
    assert m.rope_scaling and m.parameters == 7_615_616_512
    assert planned(m, seq_len=65_536).sequence_length.value == 65_536


def test_positions_that_are_not_stretched_refuse_it(tmp_path: Path) -> None:
    for rope in ({}, {"rope_scaling": None}, {"rope_parameters": {"rope_type": "default", "rope_theta": 1e6}}):
        with pytest.raises(PapertrainError, match="32,768 positions"):
            planned(model(tmp_path, **rope), seq_len=65_536)


@pytest.mark.parametrize(
    ("stored", "word"),
    [({"quant_method": "gptq", "bits": 4, "group_size": 128}, "gptq4"), ({"quant_method": "awq", "bits": 4}, "awq4"),
     ({"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_use_double_quant": True}, "nf4-double"),
     ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "int8")],
)  # fmt: skip
def test_a_model_that_is_stored_quantised_trains_adapters_on_it(
    tmp_path: Path, stored: dict[str, Any], word: str
) -> None:
    m = model(tmp_path, quantization_config=stored)
    assert m.quantized == word and m.parameters == 7_615_616_512
    plan = planned(m)
    assert plan.method.value == "lora" and plan.memory is not None
    # Qwen2.5-7B: 6.5 B in the blocks, packed, and 1.1 B in embedding and head
    assert plan.memory.components["weights"] < (7.0e9 if word != "int8" else 9.5e9)
    for method in ("full", "qlora", "freeze"):
        with pytest.raises(PapertrainError, match="stored quantised"):
            planned(m, method=method)


def test_a_small_model_that_is_stored_quantised_gets_adapters_too(tmp_path: Path) -> None:
    small = {
        "hidden_size": 896,
        "intermediate_size": 4864,
        "num_hidden_layers": 24,
        "num_attention_heads": 14,
        "num_key_value_heads": 2,
    }
    m = model(tmp_path, **small, quantization_config={"quant_method": "gptq", "bits": 4})
    assert planned(m).method.value == "lora"


def test_fp8_is_loaded_as_sixteen_bits_and_says_so(tmp_path: Path) -> None:
    m = model(tmp_path, quantization_config={"quant_method": "fp8", "fmt": "e4m3"})
    assert m.quantized is None and any("fp8" in n for n in m.notes)


def test_a_packing_that_is_not_known_is_refused_for_training(tmp_path: Path) -> None:
    m = model(tmp_path, quantization_config={"quant_method": "gptq", "bits": 3})
    assert m.quantized == "other"
    with pytest.raises(PapertrainError, match="not known here"):
        planned(m)


@pytest.mark.parametrize("kv", [5, 56, 27])
def test_heads_that_cannot_share_their_keys_are_one_line(tmp_path: Path, kv: int) -> None:
    with pytest.raises(PapertrainError, match="must divide") as caught:
        model(tmp_path, num_key_value_heads=kv)
    assert str(caught.value.file).endswith("config.json")


def test_what_the_file_leaves_out_is_what_the_class_fills_in(tmp_path: Path) -> None:
    assert model(tmp_path, tie_word_embeddings="leave out").tied is False
    assert model(tmp_path, hidden_size=3584.0).parameters == 7_615_616_512
    assert model(tmp_path, use_sliding_window=False, sliding_window=131072).sliding_window is None
    assert (
        model(tmp_path, model_type="mistral", architectures=["MistralForCausalLM"], sliding_window=4096).sliding_window
        == 4096
    )
