"""The environments of `make frameworks`: where each lies, or why a test that needs it is skipped."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from patience import LIMIT

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent


def folder(name: str) -> Path:
    """The environment of that name; a skip with the reason where it is not there or could not be made."""
    place = ROOT / ".envs" / name
    why = place / ".impossible"
    if why.is_file():
        pytest.skip(f".envs/{name} could not be made here: {why.read_text().strip()[-200:]}")
    if not (place / "bin/python").exists():
        pytest.skip(f"no .envs/{name}: `make frameworks` makes it")
    return place


def read_by(name: str, script: str, where: Path, timeout: float = LIMIT) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """What the frameworks of that environment say to the files of a folder: (their versions, a line per file)."""
    done = subprocess.run(
        [str(folder(name) / "bin/python"), str(HERE / script), str(where)], capture_output=True, text=True, timeout=timeout,
        env=os.environ | {"CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return lines[0], lines[1:]
