"""A workspace with a plan and a run, and the server as a person starts it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from papertrain import verbs

EXE = str(Path(sys.executable).with_name("papertrain"))


@pytest.fixture(scope="module")
def lively(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace whose run goes on while a test looks, and whose table has evidence."""
    root = tmp_path_factory.mktemp("served") / "work"
    verbs.load("plan")("Qwen/Qwen2.5-0.5B-Instruct", gpu="1x 4090", method="lora", output=root)
    run = root / "runs" / "ours.data.42"
    run.mkdir(parents=True)
    rows = [{"step": i, "total_steps": 400, "loss": 2 - i / 300, "eval_loss": 2.1 - i / 300, "learning_rate": 1e-4} for i in range(1, 200)]  # fmt: skip
    (run / "train_log.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    (run / "stdout.log").write_text("first line\n" * 3000 + "the needle\nlast line\n")
    (run / "predictions.csv").write_text("id,label,prediction\n" + "".join(f"{i},{i % 2},{(i + (i % 5 == 0)) % 2}\n" for i in range(100)))  # fmt: skip
    (run / "record.json").write_text('{"run": "ours.data.42", "exit_code": 0}')
    return root


@pytest.fixture(scope="module")
def served(lively: Path) -> Iterator[str]:
    """The address with its token."""
    process = subprocess.Popen([EXE, "serve", str(lively), "--no-open"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    found = re.search(r"http://\S+", process.stdout.readline())
    assert found
    yield found[0]
    process.terminate()
    process.wait(10)
