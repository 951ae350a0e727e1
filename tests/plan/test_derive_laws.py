"""The laws: every number has a source, every task has its rows, and they agree with what was published."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from papertrain.facts.laws import law, laws
from papertrain.plan.rulesets import TASKS, between, epochs_for, family_of, rate, tuner, warmup_for

ROOT = Path(__file__).resolve().parents[2]


def tables(node: Any, path: str = "") -> list[str]:
    found = [path] if path else []
    for key, value in node.items():
        if isinstance(value, dict) and key != "sources":
            found += tables(value, f"{path}.{key}" if path else key)
    return found


@pytest.mark.parametrize("name", laws())
def test_every_number_of_a_law_has_a_source_that_exists(name: str) -> None:
    found = law(name)
    numbered = [
        p
        for p in tables(found.table)
        if any(isinstance(v, (int, float, list)) and k != "contested_by" for k, v in found.get(p).items())
    ]
    assert all(found.source(p).ref.strip() for p in numbered)


@pytest.mark.parametrize("name", laws())
def test_no_source_is_without_use(name: str) -> None:
    text = (ROOT / f"src/papertrain/facts/laws/{name}.toml").read_text()
    assert [s for s in law(name).get("sources") if text.count(f'"{s}"') < 1] == []


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("column", ["full", "lora"])
def test_every_task_has_a_rate_a_batch_and_epochs(task: str, column: str) -> None:
    method = "full" if column == "full" else "lora"
    for rules in ("method", "evidence"):
        r = rate(rules, task=task, method=method, family="other", parameters=7_000_000_000, batch=64)
        assert 0 < r.value < 1e-2
        assert epochs_for(rules, task=task, method=method, examples=10_000)[0] >= 1
    batch = law("batch").get(f"{column}.{task}")
    assert batch["least"] <= batch["typical"] <= batch["most"]


def test_adapters_are_trained_about_ten_times_hotter() -> None:
    # TRL's documentation: SFT 2e-5 → 2e-4, DPO 5e-7 → 5e-6, GRPO 1e-6 → 1e-5.
    for task, full, lora in (("sft", 2e-5, 2e-4), ("dpo", 5e-7, 5e-6), ("grpo", 1e-6, 1e-5)):
        base = law("learning_rate")
        assert (base.get(f"base.full.{task}.rate"), base.get(f"base.lora.{task}.rate")) == (full, lora)


def test_the_adapter_rate_is_flat_from_eight_to_sixty_four_sequences() -> None:
    at = {
        b: rate("method", task="sft", method="lora", family="qwen", parameters=7_000_000_000, batch=b).value
        for b in (2, 8, 16, 64, 128, 1024)
    }
    assert at[8] == at[16] == at[64] == 2e-4
    assert at[2] == 1e-4 and at[128] == 2.8e-4 and at[1024] == 4e-4


@pytest.mark.parametrize(
    ("name", "family"),
    [("meta-llama/Llama-3.1-8B", "llama-3"), ("Meta-Llama-3-8B-Instruct", "llama-3"), ("meta-llama/Llama-2-7b-hf", "llama-2"), ("mistralai/Mistral-7B-v0.1", "mistral"),
     ("mistralai/Mixtral-8x7B-v0.1", "mixtral"), ("google/gemma-7b", "gemma"), ("Qwen/Qwen2.5-7B", "qwen"), ("allenai/OLMo-7B", "olmo"), ("my/own-model", "other")],
)  # fmt: skip
def test_a_family_is_read_off_the_name(name: str, family: str) -> None:
    assert family_of(name) == family


def test_llama_3_is_known_by_its_vocabulary_where_the_name_does_not_tell() -> None:
    assert family_of("./checkpoints/final", "LlamaForCausalLM", 128_256) == "llama-3"
    assert family_of("./checkpoints/final", "MistralForCausalLM", 32_000) == "mistral"


def test_a_line_in_logarithms_passes_through_its_points() -> None:
    assert between([1, 10, 100], [8, 4, 2], 10) == pytest.approx(4)
    assert between([1, 100], [100, 1], 10) == pytest.approx(10)
    assert between([1, 100], [100, 1], 0.5) == 100 and between([1, 100], [100, 1], 1e6) == 1


@pytest.mark.parametrize("rules", ["method", "evidence"])
@pytest.mark.parametrize("steps", [1, 2, 7, 99, 300, 5_000, 1_000_000])
def test_the_warm_up_ends_before_the_run(rules: str, steps: int) -> None:
    assert 0 <= warmup_for(rules, "sft", steps) < steps
    assert warmup_for("method", "sft", steps) == min(round(0.1 * steps), steps - 1)


def test_only_adapters_use_the_adapter_column() -> None:
    assert [tuner(m) for m in ("full", "freeze", "lora", "qlora", "dora", "rslora")] == [
        "full",
        "full",
        "lora",
        "lora",
        "lora",
        "lora",
    ]


def bench() -> Any:
    spec = importlib.util.spec_from_file_location("bench_recipes", ROOT / "bench/recipes.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_default_rules_do_not_lose_to_a_constant_on_published_recipes() -> None:
    b = bench()
    assert b.misses(b.table(b.read())) == []


def test_the_bench_weighs_families_not_records() -> None:
    b = bench()
    rows = [{"family": "a", "learning_rate": 1e-4}] * 9 + [{"family": "b", "learning_rate": 1e-5}]
    near, _ = b.score(rows, lambda r: 1e-4)
    assert near == pytest.approx(0.5)
