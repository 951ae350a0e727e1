"""Some of the faults of `make faults`, put into real training: seen, named, mended, and the run finished afterwards."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOME = "label out of range|argument renamed|optimizer state cut|column removed|token beyond the vocabulary"


@pytest.mark.slow
@pytest.mark.train
@pytest.mark.skipif(not (ROOT / ".envs/train/bin/python").exists(), reason="make train sets it up")
def test_faults_of_real_training_are_named_and_mended_and_healthy_seeds_are_left_alone(tmp_path: Path) -> None:
    words = [sys.executable, str(ROOT / "bench/faults.py"), "--only", SOME, "--healthy", "3", "--keep", str(tmp_path)]
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(words, capture_output=True, text=True, timeout=900, env=env, check=False)
    rows = [x for x in done.stdout.splitlines() if re.match(r"(?:" + SOME + r")", x)]
    assert len(rows) == 5, done.stdout + done.stderr
    assert all(re.search(r"\bright +yes +(?:tool|told)\S* +yes$", x) for x in rows), done.stdout
    assert "healthy seeds: 3, of which alarmed: 0" in done.stdout
