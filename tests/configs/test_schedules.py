"""A schedule that needs arguments gets them in every file, and transformers builds it from them."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from plans import make_job

from papertrain.configs import words
from papertrain.configs.targets import script
from papertrain.configs.words import schedule_lines
from papertrain.core.yaml import load
from papertrain.plan.derive_question import SCHEDULERS

ROOT = Path(__file__).resolve().parents[2]
TRAIN = Path(script.__file__).parent / "script_files" / "train.py"
NEEDY = {"cosine_with_min_lr": {"min_lr_rate": 0.1}, "warmup_stable_decay": {"num_decay_steps": 40}}


@pytest.mark.parametrize("kind", SCHEDULERS)
@pytest.mark.parametrize("target", ["llamafactory", "trl", "axolotl"])
def test_every_framework_is_given_what_the_schedule_needs(target: str, kind: str) -> None:
    from papertrain.configs.generating import targets

    job = make_job(lr_scheduler=kind, total_steps=400, zero_stage=0)
    files = targets()[target].files(job)
    for name, text in files.items():
        if not name.endswith(".yaml") or "lr_scheduler" not in text:
            continue
        value = load(text, name).value
        assert isinstance(value, dict) and value.get("lr_scheduler_kwargs") == NEEDY.get(kind), name


def test_a_decay_of_unknown_length_is_not_invented() -> None:
    job = make_job(lr_scheduler="warmup_stable_decay", total_steps=None)
    assert next(line.key for line in schedule_lines(job)) == "lr_scheduler_type"
    assert words.schedule_arguments(job) == []


def in_script(kind: str, steps: int) -> dict[str, float] | None:
    """What the script's own function says, without its imports."""
    tree = ast.parse(TRAIN.read_text("utf-8"))
    tree.body = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "schedule_arguments"]
    found: dict[str, object] = {}
    exec(compile(tree, str(TRAIN), "exec"), found)
    return found["schedule_arguments"](kind, steps)  # type: ignore[operator,no-any-return]


@pytest.mark.parametrize("kind", SCHEDULERS)
def test_the_script_says_the_same_as_the_configs(kind: str) -> None:
    assert in_script(kind, 400) == NEEDY.get(kind)


@pytest.mark.slow
def test_transformers_builds_every_schedule_that_is_offered() -> None:
    python = ROOT / ".envs/train/bin/python"
    if not python.exists():
        pytest.skip("no .envs/train")
    arguments = {kind: in_script(kind, 400) for kind in SCHEDULERS}
    code = (
        "import torch\nfrom transformers import get_scheduler\n"
        f"for kind, more in {arguments!r}.items():\n"
        "    o = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)\n"
        "    s = get_scheduler(kind, o, 40, 400, more)\n"
        "    for _ in range(400): o.step(); s.step()\n"
        "    print(kind, s.get_last_lr()[0])\n"
    )
    done = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-1500:]
    ends = {name: float(rate) for name, rate in (row.split() for row in done.stdout.splitlines())}
    assert set(ends) == set(SCHEDULERS)
    assert ends["warmup_stable_decay"] < 0.01 and ends["cosine_with_min_lr"] == pytest.approx(0.1)
