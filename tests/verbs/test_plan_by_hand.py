"""A plan.json that a person changed, and a model whose name is a slip: told before files are made from them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from papertrain.core.errors import PapertrainError
from papertrain.verbs.estimate import estimate
from papertrain.verbs.generate import generate
from papertrain.verbs.plan import plan

ROWS = [{"instruction": f"question {i}", "output": "an answer of some words " * 5} for i in range(300)]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    data = tmp_path / "a.jsonl"
    data.write_text("".join(json.dumps(r) + "\n" for r in ROWS))
    plan("Qwen/Qwen2.5-0.5B", data=data, gpu="1x 4090", output=tmp_path / "work")
    return tmp_path / "work"


def change(work: Path, name: str, value: object) -> None:
    file = work / "plans/ours/plan.json"
    found = json.loads(file.read_text())
    found[name]["value"] = value
    file.write_text(json.dumps(found, indent=2) + "\n")


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [("learning_rate", -5.0, "above 0"), ("optimizer", "adamwx", "adamw"), ("micro_batch_size", 0, "from 1 on")],
)
def test_a_value_that_no_run_can_have_is_refused(work: Path, name: str, value: object, says: str) -> None:
    change(work, name, value)
    with pytest.raises(PapertrainError, match=says) as e:
        generate(work)
    assert name in str(e.value.says) and "edited by hand" in str(e.value.says)
    assert not (work / "configs").exists()


def test_a_plan_that_was_edited_is_told_and_one_that_was_not_is_not(work: Path) -> None:
    assert not any("edited by hand" in w for w in generate(work).warnings)
    change(work, "learning_rate", 3.3e-4)
    assert any("plan.json was edited by hand" in w for w in generate(work).warnings)


def test_a_mistyped_organisation_stands_in_plan_generate_and_estimate(tmp_path: Path) -> None:
    data = tmp_path / "a.jsonl"
    data.write_text("".join(json.dumps(r) + "\n" for r in ROWS))
    said = plan("Qwem/Qwen2.5-0.5B", data=data, gpu="1x 4090", output=tmp_path / "work").warnings
    for warnings in (said, generate(tmp_path / "work").warnings, estimate("Qwem/Qwen2.5-0.5B", gpu="1x 4090").warnings):
        assert any("assumed to be that of Qwen/Qwen2.5-0.5B" in w for w in warnings)
    assert not estimate("Qwen/Qwen2.5-0.5B", gpu="1x 4090").warnings
