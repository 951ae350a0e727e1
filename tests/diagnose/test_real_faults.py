"""The messages that the libraries really print, not those that we remember."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from papertrain.diagnose.decide import decide
from papertrain.diagnose.look import look_at_text

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".envs/train/bin/python"


@pytest.mark.train
@pytest.mark.slow
@pytest.mark.skipif(not PYTHON.exists(), reason="the training environment is not installed (make train)")
def test_what_the_libraries_print_gets_its_class() -> None:
    done = subprocess.run(
        [PYTHON, Path(__file__).with_name("real_faults.py")],
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    told = json.loads(done.stdout[done.stdout.index("{") :])
    assert len(told) >= 40
    wrong = {}
    for name, text in told.items():
        found = [m.rule.name for m in decide(look_at_text(text)).matches[:1]]
        # A card is there: then some of these do not fail.
        if text.strip() and found != [name.split("#")[0]]:
            wrong[name] = (found, text.strip().splitlines()[-1][:200])
    assert wrong == {}
