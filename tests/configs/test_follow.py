"""A check of one file reads the files that it names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from papertrain.verbs.check import check

SFT = """model_name_or_path: Qwen/Qwen2.5-7B-Instruct
stage: sft
do_train: true
finetuning_type: lora
lora_target: all
dataset: reviews
template: qwen
cutoff_len: 1024
output_dir: out
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
learning_rate: 1.0e-4
num_train_epochs: 3
bf16: true
deepspeed: ds.json
"""
DEEPSPEED = {
    "train_micro_batch_size_per_gpu": "auto",
    "gradient_accumulation_steps": "auto",
    "train_batch_size": "auto",
    "bf16": {"enabled": "auto"},
    "zero_optimization": {"stage": 2, "offload_paramz": {"device": "cpu"}},
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    Path("data/rows.jsonl").write_text('{"question": "a", "answer": "b"}\n')
    registry = {
        "reviews": {"file_name": "rows.jsonl", "columns": {"prompt": "question", "response": "answr"}},
        "other": {"filename": "x.jsonl"},
    }
    Path("data/dataset_info.json").write_text(json.dumps(registry))
    Path("sft.yaml").write_text(SFT)
    Path("ds.json").write_text(json.dumps(DEEPSPEED))
    Path("run.sh").write_text("#!/bin/bash\nllamafactory-cli train sft.yaml\n")
    return tmp_path


@pytest.mark.parametrize("named", ["sft.yaml", "run.sh"])
def test_the_deepspeed_file_and_the_used_entry_are_checked_where_they_stand(place: Path, named: str) -> None:
    found = {(f["file"], f["rule"]) for f in check([Path(named)]).data["findings"]}
    assert ("data/dataset_info.json", "TR351") in found
    assert any(file == "ds.json" for file, _ in found)
    assert not any("other" in f["says"] for f in check([Path(named)]).data["findings"])


def test_fix_changes_only_what_was_named_and_the_action_names_the_rest(place: Path) -> None:
    before = Path("ds.json").read_text()
    Path("sft.yaml").write_text(SFT.replace("bf16: true", "bf16: true\nevaluation_strategy: 'no'"))
    answer = check([Path("run.sh")])
    assert answer.action is not None and answer.action.startswith("papertrain check run.sh sft.yaml")
    assert check([Path("run.sh")], fix=True).data.get("applied", []) == []
    assert Path("ds.json").read_text() == before


def test_files_that_name_each_other_end(place: Path) -> None:
    Path("a.sh").write_text("bash b.sh\nllamafactory-cli train sft.yaml\n")
    Path("b.sh").write_text("bash a.sh\n")
    assert check([Path("a.sh"), Path("sft.yaml")]).data["findings"]
