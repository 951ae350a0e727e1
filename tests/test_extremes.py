"""Values and names at the edge of what formats allow: the answer is the same in text and in JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXE = str(Path(sys.executable).with_name("papertrain"))


def run(*words: str | bytes, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([EXE, *words], cwd=cwd, capture_output=True, timeout=120, check=False)


@pytest.mark.parametrize("verb", ["watch", "diagnose", "check", "status", "evaluate", "compare", "package"])
@pytest.mark.parametrize("there", [True, False])
def test_a_name_that_is_no_utf_8_is_answered_alike_in_text_and_json(tmp_path: Path, verb: str, there: bool) -> None:
    name = b"a\xff.log"
    if there:
        (Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))).write_text("{'loss': 1.0, 'epoch': 1}\n")
    text, document = run(verb, name, cwd=tmp_path), run(verb, name, "--json", cwd=tmp_path)
    assert text.returncode == document.returncode in (0, 1, 2) and b"Traceback" not in text.stderr + document.stderr
    assert json.loads(document.stdout)["verb"] == verb


@pytest.mark.parametrize("loss", ["-1e308", "1e308", "-1.7e308", "1e200", "9" * 400])
def test_a_loss_at_the_end_of_the_numbers_is_an_answer(tmp_path: Path, loss: str) -> None:
    (tmp_path / "z.log").write_text("".join(f"{{'loss': {loss}, 'epoch': {i}}}\n" for i in range(1, 40)))
    (tmp_path / "run").mkdir()
    rows = ",".join(f'{{"loss": {loss}, "step": {i}, "epoch": {i}}}' for i in range(1, 40))
    (tmp_path / "run/trainer_state.json").write_text(f'{{"log_history": [{rows}]}}')
    for verb in ("diagnose", "watch"):
        for file in ("z.log", "run", "run/trainer_state.json"):
            done = run(verb, file, cwd=tmp_path)
            assert done.returncode in (0, 1) and not done.stderr, (verb, file, done.stderr[-300:])
