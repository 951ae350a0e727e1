"""The base install is small and enough: no extras, no torch, and the first five minutes work."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SAMPLES = ROOT / "examples" / "first-minutes"


BARE = ROOT / ".envs" / "bare" / "bin"
pytestmark = pytest.mark.skipif(not (BARE / "papertrain").exists(), reason="no bare environment: `make bare`")


@pytest.fixture
def bare() -> Path:
    """An environment with the package and nothing that an extra brings (`make bare`)."""
    return BARE


@pytest.mark.slow
def test_the_base_install_has_nothing_heavy(bare: Path) -> None:
    names = {
        p["name"].lower()
        for p in json.loads(
            subprocess.run([bare / "pip", "list", "--format", "json"], capture_output=True, check=True).stdout
        )
    }
    assert "papertrain" in names
    assert not names & {
        "torch",
        "transformers",
        "pandas",
        "numpy",
        "scipy",
        "matplotlib",
        "scikit-learn",
        "datasets",
        "accelerate",
    }


@pytest.mark.slow
def test_the_first_five_minutes_work_without_extras(bare: Path, tmp_path: Path) -> None:
    def run(*args: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [bare / "papertrain", *map(str, args)],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            cwd=SAMPLES,
        )

    assert (
        run("--help").returncode == 0
        and subprocess.run([bare / "paper-train", "--version"], check=False).returncode == 0
    )
    assert run("check", "sft.yaml", "ds_z2.json", "run.sh").returncode == 1
    assert run("diagnose", "train.log", "--config", "ds_z2.json").returncode == 0
    assert run("watch", "train.log").returncode == 1
    done = run(
        "plan",
        "Qwen/Qwen2.5-7B-Instruct",
        "--data",
        "reviews.jsonl",
        "--gpu",
        "4x A100-80GB",
        "--host-ram",
        "512GB",
        "-o",
        tmp_path / "work",
    )
    assert done.returncode == 0, done.stderr
    assert run("generate", tmp_path / "work").returncode == 0 and run("status", tmp_path / "work").returncode == 0


@pytest.mark.slow
def test_what_needs_an_extra_says_which(bare: Path) -> None:
    for args in (
        ("compare", "--system", "a=ours.csv", "--system", "b=baseline.csv"),
        ("evaluate", "ours.csv"),
        ("mcp",),
        ("serve", "--no-open"),
        ("demo", "--env", str(BARE.parent)),
    ):
        done = subprocess.run(
            [bare / "papertrain", *args],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            cwd=SAMPLES,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 2 and "pip install" in done.stderr and "Traceback" not in done.stderr, (
            args,
            done.stderr,
        )
