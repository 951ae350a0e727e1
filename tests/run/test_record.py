"""A record holds what is needed to do the run again, and no token ever stands in a command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "security"))
import scene

from papertrain import verbs
from papertrain.core.errors import Refused
from papertrain.run import record

TOKEN = "hf_" + "abcdefghijABCDEFGHIJ0123456789klmn"
FIELDS = ("command", "words", "environment", "versions", "packages", "config", "data_files", "plan_digest", "git_commit", "git_dirty", "git_diff", "device", "driver", "cores", "system",
          "python", "seed", "started_at", "ended_at", "seconds", "exit_code", "outputs")  # fmt: skip


def git(folder: Path, *words: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", *words],
        cwd=folder,
        check=True,
        capture_output=True,
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("record")
    scene.build(root)
    git(root, "init", "-q")
    git(root, "add", "base.py", "sft.yaml")
    git(root, "commit", "-q", "-m", "x")
    (root / "base.py").write_text("import sys\nprint('changed')\n")
    return root


def test_a_run_that_was_launched_leaves_everything_that_is_needed_to_do_it_again(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.chdir(place)
    (place / "work/study.toml").write_text(
        (place / "work/study.toml").read_text().replace("{python} base.py", "{python} ../base.py")
    )
    verbs.load("launch")(place / "work", run="base.toy.1", overwrite=True, yes=True)
    text = (place / "work/runs/base.toy.1/record.json").read_text()
    kept = json.loads(text)
    assert not [f for f in FIELDS if f not in kept] and kept["exit_code"] == 0
    assert len(kept["git_commit"]) == 40 and kept["git_dirty"] is True
    diff = (place / "work/runs/base.toy.1" / kept["git_diff"]).read_text()
    assert "-print('trained')" in diff and "+print('changed')" in diff
    assert kept["data_files"] and all(len(d["sha256"]) == 64 for d in kept["data_files"])
    assert any(o["path"].endswith("stdout.log") and len(o["sha256"]) == 64 for o in kept["outputs"])
    assert TOKEN not in text


def test_every_package_is_kept_as_pip_freeze_writes_it() -> None:
    assert record.frozen({"torch": "2.4.0", "accelerate": "1.11.0"}) == ["accelerate==1.11.0", "torch==2.4.0"]


def test_cards_and_driver_are_read_from_the_drivers_own_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 'NVIDIA A100-SXM4-80GB, 550.54.15'\necho 'NVIDIA A100-SXM4-80GB, 550.54.15'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    found = record.machine(on_cpu=False)
    assert found["device"] == "NVIDIA A100-SXM4-80GB" and found["driver"] == "550.54.15" and len(found["devices"]) == 2
    assert record.machine(on_cpu=True)["device"] == "cpu"


@pytest.mark.parametrize(
    "more", [["--hub_token", TOKEN], [f"--hub_token={TOKEN}"], ["--report", f"https://u:{TOKEN}@example.org"]]
)
def test_a_token_on_the_command_line_is_refused_with_what_to_do_instead(place: Path, more: list[str]) -> None:
    with pytest.raises(Refused, match="command line") as refused:
        verbs.load("launch")(place / "work", run="base.toy.1", overwrite=True, dry_run=True, passthrough=more)
    assert any("log in" in a for a in refused.value.ask) and TOKEN not in refused.value.one_line()
