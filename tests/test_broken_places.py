"""Pipes, devices, endless numbers and endless labels: refused in one line, never read, replaced or waited for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXE = str(Path(sys.executable).with_name("papertrain"))
STUDY = '[study]\nours = "a"\nseeds = [1]\n[methods.a]\nkind = "command"\ncommand = "python x.py --out {out}"\n[datasets.d]\ntest = "t.csv"\n'


def ask(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([EXE, *words], cwd=cwd, capture_output=True, text=True, timeout=30, check=False)


@pytest.fixture
def study(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    (work / "runs/a.d.1").mkdir(parents=True)
    (work / "tables").mkdir()
    (work / "study.toml").write_text(STUDY)
    (work / "t.csv").write_text("id,label\n1,a\n2,b\n")
    (work / "x.py").write_text("print(1)\n")
    return work


@pytest.mark.parametrize("place", ["runs/a.d.1/record.json", "tables/main.csv", "evidence.jsonl"])
@pytest.mark.parametrize("verb", ["status", "compare", "report"])
def test_a_pipe_where_a_file_of_the_workspace_should_be_is_no_wait(study: Path, place: str, verb: str) -> None:
    os.mkfifo(study / place)
    done = ask(verb, "work", *(["-o", "r.html"] if verb == "report" else []), cwd=study.parent)
    assert done.returncode == 2 and "pipe or a device" in done.stderr and done.stderr.count("\n") == 1


def test_a_pipe_is_not_replaced_by_a_file(tmp_path: Path, study: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "t.csv").write_text("text,label\na,1\nb,0\n")
    for words in (["check", "t.csv", "--write-baseline", "pipe"], ["report", "work", "-o", "pipe"]):
        done = ask(*words, cwd=tmp_path)
        assert done.returncode == 2 and (tmp_path / "pipe").is_fifo(), (words, done.stderr)


def test_numbers_without_end_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("text,label\na,1\nb,0\n")
    (tmp_path / "big.csv").write_text("step,memory.used [MiB]\n1," + "a" * 200_000 + "\n")
    for words in (
        ["plan", "7B", "--gpu", "4090", "--host-ram", "9" * 400 + "GB"],
        ["plan", "7B", "--gpu", "4090", "--disk", "9" * 400],
        ["plan", "7B", "--gpu", "4090", "--calibrate", "big.csv"],
        ["check", "t.csv", "--show", "9" * 30],
    ):
        done = ask(*words, cwd=tmp_path)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, (words, done.stderr)


def test_labels_that_are_identifiers_are_not_averaged_over(tmp_path: Path) -> None:
    rows = "".join(f"{i},w{i},w{i if i % 7 else 0}\n" for i in range(6_000))
    (tmp_path / "p.csv").write_text("id,label,prediction\n" + rows)
    assert ask("evaluate", "p.csv", cwd=tmp_path).returncode in (0, 1)


def test_a_study_of_commands_leads_on(study: Path) -> None:
    said = ask("next", "work", cwd=study.parent)
    assert said.returncode == 0 and "papertrain launch work" in said.stdout
