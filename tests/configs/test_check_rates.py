"""Learning rates against the published ranges of each method and stage."""

from __future__ import annotations

from pathlib import Path

import pytest

from papertrain.configs.checking.engine import Choice, hits
from papertrain.configs.checking.read import read_file
from papertrain.configs.checking.world import World
from papertrain.core.findings import Finding


def rate(folder: Path, text: str, name: str = "t.yaml") -> list[Finding]:
    (folder / name).write_text(text)
    return [
        h.finding
        for h in hits(World(read_file(folder / name)), choice=Choice(preview=True))
        if h.finding.rule == "TR335"
    ]


def lf(stage: str, method: str, value: str, model: str = "Qwen/Qwen2.5-7B-Instruct") -> str:
    return f"model_name_or_path: {model}\nstage: {stage}\ndo_train: true\nfinetuning_type: {method}\ntemplate: qwen\ndataset: a\noutput_dir: o\nlearning_rate: {value}\n"


# published: SFT LoRA 5e-6 to 2e-3, SFT full 5e-7 to 2e-4 (median 2e-5), DPO full 8e-8 to 2e-5, ten times that with LoRA
@pytest.mark.parametrize(
    ("stage", "method", "value", "usual"),
    [
        ("sft", "lora", "1.0e-2", "0.0001 to 0.0003"),
        ("sft", "lora", "1.0e-7", "0.0001 to 0.0003"),
        ("sft", "full", "1.0e-3", "5e-06 to 2e-05"),
        ("sft", "full", "2.0e-4", "5e-06 to 2e-05"),
        ("sft", "full", "1.0e-7", "5e-06 to 2e-05"),
        ("dpo", "lora", "1.0e-3", "5e-06"),
        ("dpo", "full", "1.0e-4", "5e-07 to 1e-06"),
        ("kto", "full", "1.0e-4", "5e-07 to 1e-06"),
        ("rm", "full", "1.0e-3", "3e-06 to 2e-05"),
        ("ppo", "full", "1.0e-4", "3e-07 to 3e-06"),
    ],
)
def test_a_rate_that_nobody_publishes_for_that_method_is_a_warning_with_the_usual_range(
    stage: str, method: str, value: str, usual: str, tmp_path: Path
) -> None:
    (seen,) = rate(tmp_path, lf(stage, method, value))
    high = float(value) > 1e-6
    assert seen.level == "warning" and usual in seen.says + seen.instead and seen.effect == "experiment"
    assert ("above" in seen.says) == high and ("below" in seen.says) == (not high)
    assert ("LoRA" in seen.says) == (method == "lora") and ("full" in seen.says) == (method == "full")


@pytest.mark.parametrize(
    ("stage", "method", "value"),
    [
        ("sft", "lora", "1.0e-3"),
        ("sft", "lora", "1.0e-4"),
        ("sft", "lora", "5.0e-6"),
        ("sft", "full", "1.0e-4"),
        ("sft", "full", "1.0e-5"),
        ("dpo", "lora", "5.0e-6"),
        ("dpo", "lora", "1.0e-4"),
        ("dpo", "full", "5.0e-7"),
        ("pt", "full", "4.0e-4"),
        ("pt", "lora", "1.0e-4"),
        ("rm", "lora", "1.0e-4"),
        ("ppo", "lora", "1.0e-5"),
    ],
)
def test_published_rates_pass(stage: str, method: str, value: str, tmp_path: Path) -> None:
    assert rate(tmp_path, lf(stage, method, value)) == []


def test_a_small_model_is_trained_hotter(tmp_path: Path) -> None:
    # SmolLM2-135M-Instruct was tuned at 1e-3, all weights.
    assert rate(tmp_path, lf("sft", "full", "1.0e-3", "HuggingFaceTB/SmolLM2-135M")) == []


def test_low_rank_gradients_and_other_optimizers_have_their_own_rates(tmp_path: Path) -> None:
    assert rate(tmp_path, lf("sft", "full", "1.0e-3") + "use_galore: true\n") == []
    assert rate(tmp_path, lf("sft", "full", "1.0e-3") + "optim: adafactor\n") == []


def test_the_other_frameworks_are_judged_by_their_own_words(tmp_path: Path) -> None:
    axolotl = "base_model: meta-llama/Llama-3.1-8B\ndatasets:\n  - path: a/b\n    type: alpaca\nmicro_batch_size: 2\n"
    assert len(rate(tmp_path, axolotl + "learning_rate: 0.001\n")) == 1
    assert rate(tmp_path, axolotl + "adapter: lora\nlearning_rate: 0.001\n") == []
    assert len(rate(tmp_path, axolotl + "adapter: qlora\nrl: dpo\nlearning_rate: 0.001\n")) == 1
    trl = "model_name_or_path: Qwen/Qwen2.5-7B\ndataset_name: trl-lib/ultrafeedback_binarized\nmax_length: 1024\noutput_dir: o\n"
    assert len(rate(tmp_path, trl + "beta: 0.1\nlearning_rate: 1.0e-3\n")) == 1
    assert len(rate(tmp_path, trl + "learning_rate: 1.0e-3\n")) == 1
    assert rate(tmp_path, trl + "use_peft: true\nlora_r: 8\nlearning_rate: 1.0e-3\n") == []


def test_a_missing_exponent_is_called_one(tmp_path: Path) -> None:
    (seen,) = rate(tmp_path, lf("sft", "lora", "5"))
    assert "exponent" in seen.says
