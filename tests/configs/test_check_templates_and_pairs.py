"""A template or a data set that is accepted and trains something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from papertrain.configs.checking.engine import Choice, hits
from papertrain.configs.checking.read import read_file
from papertrain.configs.checking.world import World
from papertrain.core.findings import Finding


def findings(folder: Path, rule: str, files: dict[str, str]) -> list[Finding]:
    for name, text in files.items():
        (folder / name).write_text(text)
    world = World(read_file(folder / next(iter(files))))
    return [h.finding for h in hits(world, choice=Choice(preview=True)) if h.finding.rule == rule]


@pytest.mark.parametrize(
    ("model", "right"),
    [
        ("meta-llama/Llama-3.1-70B-Instruct", "llama3"),
        ("meta-llama/Meta-Llama-3-8B-Instruct", "llama3"),
        ("/data/models/Qwen2.5-7B-Instruct", "qwen"),
        ("google/gemma-2-9b-it", "gemma2"),
    ],
)
def test_the_default_template_on_a_chat_model_names_that_of_the_family(model: str, right: str, tmp_path: Path) -> None:
    text = f"model_name_or_path: {model}\nstage: sft\ndo_train: true\nfinetuning_type: lora\ntemplate: default\ndataset: a\noutput_dir: o\n"
    (wrong,) = findings(tmp_path, "TR304", {"t.yaml": text})
    assert f"template: {right}" in wrong.instead and wrong.level in ("warning", "error")
    assert wrong.effect == "experiment"


def test_the_default_template_is_right_for_a_base_model_and_for_raw_text(tmp_path: Path) -> None:
    text = "model_name_or_path: meta-llama/Llama-3.1-8B\nstage: sft\nfinetuning_type: lora\ntemplate: default\n"
    assert findings(tmp_path, "TR304", {"t.yaml": text}) == []
    raw = text.replace("3.1-8B", "3.1-8B-Instruct").replace("sft", "pt")
    assert findings(tmp_path, "TR304", {"t.yaml": raw}) == []


ROWS = '{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}\n'
PAIRS = '{"prompt": "a", "chosen": "b", "rejected": "c"}\n'
DPO = "model_name_or_path: Qwen/Qwen3-4B\nstage: dpo\ndo_train: true\nfinetuning_type: lora\ntemplate: qwen3\ndataset: a\ndataset_dir: {folder}\noutput_dir: o\n"


def test_a_registry_that_says_pairs_over_data_without_any_is_seen(tmp_path: Path) -> None:
    registry = '{"a": {"file_name": "a.jsonl", "ranking": true, "formatting": "sharegpt", "columns": {"messages": "messages"}}}'
    files = {"t.yaml": DPO.format(folder=tmp_path), "dataset_info.json": registry, "a.jsonl": ROWS}
    (wrong,) = findings(tmp_path, "TR349", files)
    assert wrong.level == "error" and "messages" in wrong.says


def test_a_registry_whose_pairs_are_there_passes(tmp_path: Path) -> None:
    registry = '{"a": {"file_name": "a.jsonl", "ranking": true, "columns": {"prompt": "prompt", "chosen": "chosen", "rejected": "rejected"}}}'
    files = {"t.yaml": DPO.format(folder=tmp_path), "dataset_info.json": registry, "a.jsonl": PAIRS}
    assert findings(tmp_path, "TR349", files) == []


def test_a_trl_run_on_pairs_over_a_file_without_any_is_seen(tmp_path: Path) -> None:
    text = "model_name_or_path: Qwen/Qwen3-4B\ndatasets:\n  - path: json\n    data_files: a.jsonl\n    split: train\nuse_peft: true\nlora_r: 8\nbeta: 0.1\nmax_length: 512\noutput_dir: o\n"
    assert [f.level for f in findings(tmp_path, "TR349", {"t.yaml": text, "a.jsonl": ROWS})] == ["error"]
    assert findings(tmp_path, "TR349", {"t.yaml": text, "a.jsonl": PAIRS}) == []


def test_an_axolotl_run_on_pairs_over_a_file_without_any_is_seen(tmp_path: Path) -> None:
    text = "base_model: Qwen/Qwen3-4B\nrl: dpo\ndatasets:\n  - path: a.jsonl\n    type: chatml.intel\nmicro_batch_size: 1\nadapter: lora\n"
    assert [f.level for f in findings(tmp_path, "TR349", {"t.yaml": text, "a.jsonl": ROWS})] == ["error"]
    assert findings(tmp_path, "TR349", {"t.yaml": text, "a.jsonl": PAIRS}) == []
