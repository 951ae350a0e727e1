"""The record of a run that was launched: everything that somebody needs to run it again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "security"))
import scene
from runner import command

HF = "hf_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3f"


def test_a_record_says_all_that_is_needed_to_run_it_again_and_nothing_secret(tmp_path: Path) -> None:
    work = scene.build(tmp_path)
    git = {"cwd": tmp_path, "check": True, "capture_output": True, "env": os.environ | {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b.org", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b.org"}}  # fmt: skip
    (work / "base.py").write_text("print('trained')\n")
    for words in (["init", "-q", "."], ["add", "-A"], ["commit", "-q", "-m", "x"]):
        subprocess.run(["git", *words], **git)
    (work / "base.py").write_text(f"print('trained')  # {HF}\n")
    done = command("launch", "work", "--run", "base.toy.1", "--overwrite", "--yes", cwd=tmp_path)
    assert done.code == 0, done.err
    run = work / "runs/base.toy.1"
    record = json.loads((run / "record.json").read_text())
    for field in (
        "command",
        "words",
        "environment",
        "config",
        "data_files",
        "packages",
        "driver",
        "device",
        "git_commit",
        "seed",
        "started_at",
        "ended_at",
        "exit_code",
        "outputs",
        "seconds",
        "system",
        "python",
    ):
        assert field in record, field
    assert record["exit_code"] == 0 and record["seed"] == 1 and record["ended_at"] > record["started_at"]
    assert len(record["git_commit"]) == 40 and record["git_dirty"] and record["git_diff"] == "git.diff"
    diff = (run / "git.diff").read_text()
    assert "-print('trained')\n+print('trained')  # [redacted-huggingface" in diff and HF not in diff
    assert any(p.startswith("msgspec==") for p in record["packages"]), "pip freeze of the interpreter that ran"
    assert {d["path"] for d in record["data_files"]} == {"../train.jsonl", "../test.jsonl"}
    assert all(len(d["sha256"]) == 64 for d in (*record["data_files"], *record["outputs"]) if "missing" not in d)
    assert HF not in (run / "record.json").read_text()


def test_a_token_in_the_environment_of_the_run_is_not_recorded(tmp_path: Path) -> None:
    work = scene.build(tmp_path)
    (work / "base.py").write_text("print('trained')\n")

    def tokens() -> None:
        os.environ.update(
            HF_TOKEN=HF, WANDB_API_KEY="0123456789abcdef0123456789abcdef01234567", CUDA_VISIBLE_DEVICES="0"
        )

    assert (
        command("launch", "work", "--run", "base.toy.1", "--overwrite", "--yes", cwd=tmp_path, first=tokens).code == 0
    )
    text = (work / "runs/base.toy.1/record.json").read_text()
    assert HF not in text and "0123456789abcdef0123456789abcdef01234567" not in text
    assert json.loads(text)["environment"]["CUDA_VISIBLE_DEVICES"] == "0"
