"""The next command of every answer works as typed: same in status and next, with the options that were used, or refused
before anything is written."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

sys.path.insert(0, str(Path(__file__).resolve().parent))
from workspaces import make_workspace

from papertrain.core.errors import PapertrainError
from papertrain.core.files import sha256_file
from papertrain.core.gate import confirm
from papertrain.core.training import write_plan
from papertrain.core.workspace import Workspace
from papertrain.verbs.evaluate import evaluate
from papertrain.verbs.generate import generate
from papertrain.verbs.launch import launch
from papertrain.verbs.next import next as next_
from papertrain.verbs.status import status

RUN = "ours.train.42"


def generated(tmp_path: Path) -> Path:
    work = make_workspace(tmp_path, cards=1)
    known, file = Workspace(work).plan(), tmp_path / "train.jsonl"
    assert known.dataset is not None
    data = structs.replace(known.dataset, sha256=sha256_file(file), bytes=file.stat().st_size)
    Workspace(work).plan_path("ours").write_text(write_plan(structs.replace(known, dataset=data)))
    generate(work)
    return work


def left(work: Path, **record: Any) -> None:
    folder = work / "runs" / RUN
    folder.mkdir(parents=True, exist_ok=True)
    space = Workspace(work)
    known = {"run": RUN, "target": "script", "env": None, "plan_digest": space.plan_digest("ours"), "pid": 2**22 + 9}
    (folder / "record.json").write_text(json.dumps({**known, **record}))


def nowhere(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    """A machine without a training environment."""
    monkeypatch.chdir(place)
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "prefix", str(place / "none"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")


def test_a_program_that_is_not_there_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = generated(tmp_path)
    nowhere(monkeypatch, tmp_path)
    with pytest.raises(PapertrainError, match="llamafactory-cli is not installed"):
        launch(work, target="llamafactory", yes=True)
    assert not (work / "runs").exists() and "no run was started" in status(work).body
    shown = launch(work, target="llamafactory", dry_run=True)
    assert "llamafactory-cli train" in shown.body and any("not installed" in w for w in shown.warnings)


def test_a_run_whose_program_never_started_is_not_started(tmp_path: Path) -> None:
    work = generated(tmp_path)
    left(work, exit_code=None, pid=None)
    assert Workspace(work).grid()[0].state == "missing"
    met = {c["text"]: c["met"] for c in status(work).data["done_when"]}
    assert met["training started or debugged"] is False


def test_without_torch_the_next_command_shows_the_run_and_says_how_to_get_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = generated(tmp_path)
    nowhere(monkeypatch, tmp_path)
    for report in (status(work), next_(work)):
        assert report.action is not None and report.action.endswith("--dry-run") and "--env" in report.explanation
    assert (generate(work).action or "").endswith("--dry-run")
    shown = launch(work, dry_run=True)
    assert "pip install torch" in (shown.action or "") and "train" in shown.body
    with pytest.raises(PapertrainError, match="no training environment"):
        launch(work, yes=True)
    assert not (work / "runs").exists()


def test_the_next_command_keeps_target_and_environment_and_resumes_where_launch_would(tmp_path: Path) -> None:
    work = generated(tmp_path)
    env = tmp_path / "my env"
    (env / "bin").mkdir(parents=True)
    (env / "bin/llamafactory-cli").write_text("#!/bin/sh\n")
    (env / "bin/llamafactory-cli").chmod(0o755)
    left(work, exit_code=None, target="llamafactory", env=str(env))
    (work / "runs" / RUN / "checkpoint-5").mkdir()
    words = shlex.split(status(work).action or "")
    assert words[:3] == ["papertrain", "launch", str(work)] and words[-2:] == ["--resume", "--yes"]
    assert words[words.index("--target") + 1] == "llamafactory" and words[words.index("--env") + 1] == str(env)


@pytest.mark.parametrize("wrong", ["plan", "steps"])
def test_a_run_of_an_older_plan_or_of_fewer_steps_is_stale_everywhere(tmp_path: Path, wrong: str) -> None:
    work = generated(tmp_path)
    planned = Workspace(work).plan().total_steps.value
    assert planned is not None
    left(work, exit_code=0, last={"step": planned, "total_steps": planned})
    assert Workspace(work).grid()[0].state == "done"
    if wrong == "plan":
        left(work, exit_code=0, plan_digest="0" * 64)
    else:
        left(work, exit_code=0, last={"step": planned // 5, "total_steps": planned // 5})
    run = Workspace(work).grid()[0]
    assert run.state == "stale" and ("plan has changed" if wrong == "plan" else f"of the {planned:,}") in run.because
    assert run.because in status(work).body and run.because in next_(work).explanation
    assert "--overwrite" in (next_(work).action or "")
    assert any(run.because in w for w in evaluate([work]).warnings)


def test_a_run_that_stopped_early_by_itself_is_done(tmp_path: Path) -> None:
    work = generated(tmp_path)
    planned = Workspace(work).plan().total_steps.value or 0
    left(work, exit_code=0, last={"step": planned // 3, "total_steps": planned})
    assert Workspace(work).grid()[0].state == "done"


def test_status_and_next_name_one_command_and_next_takes_this_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = make_workspace(tmp_path, cards=1)
    for _ in range(2):
        assert status(work).action == next_(work).action
        generate(work)
    confirm(Workspace(work), "ours")
    assert status(work).action == next_(work).action
    monkeypatch.chdir(work)
    assert next_().action == next_(Path()).action and "plan MODEL" not in (next_().action or "")


def test_commands_hold_for_a_folder_with_a_space(tmp_path: Path) -> None:
    work = generated(tmp_path).rename(tmp_path / "my work")
    for report in (status(work), next_(work), generate(work), launch(work, target="llamafactory", dry_run=True)):
        words = shlex.split(report.action or "")
        assert str(work) in words or "pip" in words


def test_a_missing_plan_of_a_study_is_asked_for_with_the_model_and_data_that_are_known(tmp_path: Path) -> None:
    work = make_workspace(tmp_path, command="true", cards=1)
    text = (work / "study.toml").read_text()
    (work / "study.toml").write_text(text.replace("[methods.ours]", "[methods.ours]\n[methods.other]"))
    action = next_(work).action or ""
    assert "MODEL" not in action and "FILE" not in action and "--name other" in action


def test_a_target_whose_program_is_missing_is_shown_and_not_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = generated(tmp_path)
    left(work, exit_code=None, pid=None, target="llamafactory")
    nowhere(monkeypatch, tmp_path)
    report = next_(work)
    assert "--target llamafactory --dry-run" in (report.action or "") and "llamafactory-cli" in report.explanation


def test_a_dry_run_shows_several_cards_where_nothing_could_start_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = make_workspace(tmp_path, cards=4)
    generate(work)
    nowhere(monkeypatch, tmp_path)
    report = launch(work, dry_run=True)
    assert "torch.distributed.run" in report.body and any("torchrun" in w or "torch" in w for w in report.warnings)
    with pytest.raises(PapertrainError):
        launch(work, yes=True)
    assert not (work / "runs").exists()
