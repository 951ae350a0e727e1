"""What is no plain file is told in one line with exit code 2, wherever `diagnose` and `fix` read, and nothing waits for a pipe."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from papertrain.core.errors import PapertrainError
from papertrain.verbs.diagnose import diagnose
from papertrain.verbs.diagnosing.cases import arguments_of
from papertrain.verbs.fix import fix
from papertrain.verbs.fixing.applying import already, noted, read_bytes

OOM = "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")


def odd(folder: Path, kind: str, name: str = "odd") -> Path:
    path = folder / name
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.write_bytes(b"\x00\x01\x02" * 400)
    return path


@needs_pipes
@pytest.mark.parametrize("kind", ["pipe", "folder", "binary"])
@pytest.mark.parametrize("option", ["config", "plan"])
def test_a_config_or_a_plan_that_is_no_text_is_refused(tmp_path: Path, kind: str, option: str) -> None:
    log = tmp_path / "train.log"
    log.write_text(OOM)
    path = odd(tmp_path, kind)
    with pytest.raises(PapertrainError) as told:
        diagnose([log], config=[path]) if option == "config" else diagnose([log], plan=path)
    assert "\n" not in told.value.one_line() and path.name in told.value.one_line()


@needs_pipes
@pytest.mark.parametrize("name", ["train.log", "train.log.gz", "train.ipynb"])
def test_a_pipe_that_nobody_writes_to_does_not_hold_the_answer_back(tmp_path: Path, name: str) -> None:
    with pytest.raises(PapertrainError):
        diagnose([odd(tmp_path, "pipe", name)])


@needs_pipes
def test_a_fix_for_a_pipe_is_refused(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(OOM)
    with pytest.raises(PapertrainError, match="not a regular file"):
        fix(odd(tmp_path, "pipe", "sft.yaml"), "D1.F1", log=[log])


@needs_pipes
def test_files_of_a_run_that_are_pipes_are_passed_by(tmp_path: Path) -> None:
    odd(tmp_path, "pipe", "args.json")
    assert arguments_of(tmp_path) == {}
    with pytest.raises(PapertrainError):
        read_bytes(tmp_path / "args.json")
    notes = tmp_path / ".papertrain" / "debug"
    notes.mkdir(parents=True)
    os.mkfifo(notes / "1.md")
    target = tmp_path / "a.yaml"
    target.write_text("a: 1\n")
    assert already(tmp_path, "D1.F1", target) is None
    noted(notes / "1.md", tmp_path, "Proved", "nothing")


def test_broken_bytes_in_a_config_are_read_around_and_its_line_is_named(tmp_path: Path) -> None:
    log, config = tmp_path / "train.log", tmp_path / "sft.yaml"
    log.write_text(OOM)
    config.write_bytes(b"# caf\xe9\nper_device_train_batch_size: 8\ngradient_accumulation_steps: 2\n")
    found = diagnose([log], config=[config]).data["diagnoses"][0]
    assert "per_device_train_batch_size: 4" in json.dumps(found["fixes"])
    config.write_bytes(b"a: \xff\xfe: [")
    with pytest.raises(PapertrainError) as told:
        diagnose([log], config=[config])
    assert "sft.yaml:1" in told.value.one_line()


def test_a_packed_log_is_read(tmp_path: Path) -> None:
    packed = tmp_path / "train.log.gz"
    packed.write_bytes(gzip.compress(OOM.encode()))
    assert diagnose([packed]).data["diagnoses"]
