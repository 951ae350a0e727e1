"""What happens after a plan: its environment is kept, its files say who stands by it, and the line named next works."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from papertrain.core.workspace import Workspace
from papertrain.verbs.generate import generate
from papertrain.verbs.launch import launch
from papertrain.verbs.launching.here import environment_of
from papertrain.verbs.next import next as next_
from papertrain.verbs.plan import plan
from papertrain.verbs.status import status

CONFIG = {"architectures": ["BertModel"], "model_type": "bert", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
          "intermediate_size": 128, "vocab_size": 30522, "max_position_embeddings": 512}  # fmt: skip
STAMP = "nobody has confirmed this plan yet"


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("model").mkdir()
    Path("model/config.json").write_text(json.dumps(CONFIG))
    for name, n in (("train.csv", 60), ("other.csv", 60)):
        rows = [f"{name[0]} film {i} was seen,{('fresh', 'rotten')[i % 2]}" for i in range(n)]
        Path(name).write_text("\n".join(["text,label", *rows]) + "\n")
    for package in ("torch-2.6.0", "transformers-4.57.0"):
        (tmp_path / f"train-env/lib/python3.11/site-packages/{package}.dist-info").mkdir(parents=True)
    (tmp_path / "train-env/bin").mkdir()
    (tmp_path / "train-env/bin/python").symlink_to(sys.executable)
    plan("model", data=Path("train.csv"), gpu="cpu", output=Path("work"), env="train-env")
    return Path("work")


def finished(work: Path) -> None:
    folder = work / "runs" / "ours.train.42"
    folder.mkdir(parents=True)
    record = {"run": folder.name, "target": "script", "exit_code": 0, "plan_digest": Workspace(work).plan_digest("ours"), "words": ["python", "train.py"]}  # fmt: skip
    (folder / "record.json").write_text(json.dumps(record))


def stamped(work: Path) -> list[str]:
    return [str(f.relative_to(work)) for f in sorted(work.rglob("*")) if f.is_file() and STAMP in f.read_text("utf-8")]


def test_the_environment_of_the_plan_is_that_of_the_first_launch(work: Path) -> None:
    generate(work)
    found = environment_of(Workspace(work), None)
    assert found is not None and found.version("torch") == "2.6.0"
    words = shlex.split(next_(work).action or "")
    assert words[words.index("--env") + 1] == str(Path("train-env").absolute())
    assert words[-1] == "--yes"  # torch is there: nothing to show how to make
    again = plan("work", sets=("learning_rate=3e-5",))
    assert not any("--env" in note for note in again.unavailable)


def test_an_environment_that_is_gone_is_not_insisted_on(work: Path) -> None:
    Path("train-env").rename("moved")
    assert "--env" not in (next_(work).action or "")
    environment_of(Workspace(work), None)


def test_files_of_a_plan_confirmed_after_generate_no_longer_say_unconfirmed(work: Path) -> None:
    generate(work, target=("script",))
    before = {f for f in work.rglob("*") if f.is_file()}
    edited = work / "monitoring.md"
    edited.write_text(edited.read_text() + "mine\n")
    assert "commands.sh" in stamped(work)
    status(work, confirm="derive")
    assert stamped(work) == ["monitoring.md"]  # a person's
    assert {f for f in work.rglob("*") if f.is_file() and "confirmed" not in f.name} == before
    report = generate(work, target=("script",))
    assert {f["state"] for f in report.data["files"]} == {"same", "kept"}


def test_files_of_an_older_plan_are_left_as_they_are(work: Path) -> None:
    generate(work)
    plan("work", sets=("learning_rate=3e-5",))
    before = stamped(work)
    status(work, confirm="derive")
    assert stamped(work) == before != []


def test_every_line_named_next_after_a_change_works(work: Path) -> None:
    generate(work)
    finished(work)
    assert plan("work", sets=("learning_rate=3e-5",)).action == "papertrain generate work"
    action = shlex.split(generate(work).action or "")
    assert action[:3] == ["papertrain", "launch", "work"] and "--overwrite" in action
    shown = launch(work, run="ours.train.42", overwrite="--overwrite" in action, dry_run=True)
    assert "train.py" in shown.body


def test_other_data_is_a_change_also_where_no_value_moves(work: Path) -> None:
    report = plan("work", data=Path("other.csv"))
    assert report.data["changed"][0] == "data train.csv (60 rows) → other.csv (60 rows)"
    assert "nothing changed" not in report.body
    Path("copy.csv").write_bytes(Path("other.csv").read_bytes())
    assert plan("work", data=Path("copy.csv")).data["changed"] == []
