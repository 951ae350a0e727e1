"""A run's folder is known by what a run leaves together; a person's folder with a file of the same name is not hidden."""

from __future__ import annotations

from pathlib import Path

import pytest

from papertrain.run.folders import of_a_run
from papertrain.verbs.check import check


@pytest.mark.parametrize(
    ("files", "is_run"),
    [
        ({"record.json": '{"run": "ours.data.1", "words": ["python"]}'}, True),
        ({"record.json": '{"smoke": true}'}, True),
        ({"trainer_state.json": "{}"}, True),
        ({"args.json": "{}", "train_log.jsonl": ""}, True),
        ({"args.json": "{}", "checkpoint-5/progress.json": "{}"}, True),
        ({"adapter_config.json": "{}", "adapter_model.safetensors": ""}, True),
        ({"args.json": "{}"}, False),
        ({"record.json": '{"artist": "Nina Simone"}'}, False),
        ({"record.json": "[1, 2"}, False),
        ({"adapter_config.json": "{}"}, False),
        ({}, False),
    ],
    ids=["launch", "smoke", "trainer", "script", "script-saved", "adapter", "args-alone", "other-record", "broken", "adapter-config-alone", "empty"],
)  # fmt: skip
def test_a_folder_is_a_run_s_by_what_stands_together(tmp_path: Path, files: dict[str, str], is_run: bool) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert of_a_run(tmp_path) is is_run


def test_the_configs_of_a_person_beside_an_args_json_are_checked(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "args.json").write_text('{"lr": 1}')
    text = "stage: sft\nmodel_name_or_path: m\ntemplate: qwen\nfinetuning_type: lora\ndataset: identity\noutput_dir: out\ncutof_len: 5\n"
    (mine / "sft.yaml").write_text(text)
    assert "cutof_len" in "".join(f["says"] for f in check([tmp_path]).data["findings"])
    (mine / "train_log.jsonl").write_text("")
    (tmp_path / "other.yaml").write_text("a: 1\n")
    assert not [f for f in check([tmp_path]).data["findings"] if "cutof_len" in f["says"]]
