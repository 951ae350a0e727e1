"""The page that compares claims only what a command on it shows: each is typed here, and prints what its line says."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "comparison.md"
EXE = str(Path(sys.executable).with_name("papertrain"))
PLAN = (
    'plan Qwen/Qwen2.5-7B-Instruct --data reviews.jsonl --gpu "4x A100-80GB" --host-ram 512GB --method lora -o work -q'
)
SHOWS = {
    'plan Qwen/Qwen2.5-7B --gpu "4x A100-80GB" --method lora': r"learning_rate +\S+ +base",
    "explain memory --plan work": r"(?s)90 %.*|to \d",
    'plan Qwen/Qwen2.5-7B --gpu "2x 4090" --host-ram 64GB --method full': r"host memory",
    'plan meta-llama/Llama-3.1-8B-Instruct --gpu "1x RTX 4090" --host-ram 64GB --method full': r"(?s)to make it fit.*changes the experiment",
    "explain learning_rate --plan work": r"against ",
    "generate work --dry-run": r"(?s)accelerate/.*deepspeed/.*llamafactory/",
    "check sft.yaml": r"`evaluation_strategy` is gone.*\n? *write `eval_strategy",
    "check sft.yaml ds_z2.json run.sh": r"(?s)sft.yaml.*ds_z2.json.*run.sh",
    "check work/configs/ours/llamafactory/train.yaml": r"rows → .* examples → .* tokens",
    "launch work --dry-run": r"llamafactory-cli|torchrun|accelerate launch|python",
    "watch train.log": r"(?s)critical.*train.log:\d+",
    "diagnose train.log --config ds_z2.json": r"(?s)because .*not ",
    "fix ds_z2.json D1.F1 --log train.log": r"(?s)\(execution\).*\+ +\"overlap_comm\": false",
    "compare --system ours=ours.csv --system baseline=baseline.csv --ours ours --baseline baseline": r"exact McNemar p = ",
    "evaluate ours.csv --metrics accuracy,macro_f1": r"accuracy +\S+ +\[",
    "compare --system ours=ours.csv --system baseline=baseline.csv -o paper": r"tables/main.tex",
    "package work -o bundle": r"MANIFEST.json",
    "launch work --mode standard --yes": r"is not confirmed",
    "mcp --help": r"read-only tool per verb",
    "report work -o report.html": r"report.html",
}
"""Command → what its answer holds."""


def rows() -> list[str]:
    text = PAGE.read_text("utf-8")
    return [m[1] for m in re.finditer(r"^\|[^|]*\| `papertrain ([^`]*)` \|", text, re.M)]


def test_each_line_of_the_page_has_a_command_and_each_command_is_tried() -> None:
    lines = [x for x in PAGE.read_text("utf-8").splitlines() if x.startswith("| ") and not x.startswith(("| ---", "| here"))]  # fmt: skip
    assert len(lines) == len(rows()) == len(SHOWS) and set(rows()) == set(SHOWS)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("compared") / "first-minutes"
    shutil.copytree(ROOT / "examples" / "first-minutes", place)
    ask(place, PLAN)
    ask(place, "generate work -q")
    return place


def ask(place: Path, command: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "NO_COLOR": "1", "COLUMNS": "100", "HF_HUB_OFFLINE": "1"}
    return subprocess.run([EXE, *shlex.split(command)], capture_output=True, text=True, cwd=place, env=env, timeout=120, check=False)  # fmt: skip


@pytest.mark.parametrize("command", list(SHOWS), ids=lambda c: c[:40])
def test_the_command_shows_what_its_line_claims(here: Path, command: str) -> None:
    done = ask(here, command)
    said = done.stdout + done.stderr
    assert done.returncode in (0, 1, 3) and re.search(SHOWS[command], said), said
    if command.endswith("-o paper"):
        assert "%" in (here / "paper" / "tables" / "main.tex").read_text(), "a comment of provenance"
