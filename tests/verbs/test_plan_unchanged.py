"""A plan that is asked again for what it has already stays as it is, byte for byte, and confirmed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from papertrain.core.gate import confirmation
from papertrain.core.params import parameters
from papertrain.core.workspace import Workspace
from papertrain.verbs.explain import explain
from papertrain.verbs.generate import generate
from papertrain.verbs.plan import plan
from papertrain.verbs.skill import skill
from papertrain.verbs.status import status

WORK = Path("work")


@pytest.fixture(autouse=True)
def planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"instruction": f"Say {i}.", "input": "", "output": f"It is {i}."} for i in range(400)]
    Path("rows.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    plan("Qwen/Qwen2.5-0.5B-Instruct", data=Path("rows.jsonl"), gpu="1x A100-80GB", output=WORK, confirm=True)
    generate(WORK)


def content() -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in (WORK / "plans/ours").iterdir()}


def test_a_value_that_the_plan_has_changes_nothing() -> None:
    before, values = content(), Workspace(WORK).plan().values()
    for name in ("learning_rate", "epochs", "method", "sequence_length", "precision", "seed"):
        told = plan(str(WORK), sets=(f"{name}={values[name]}",))
        assert content() == before and told.data["changed"] == [], name
    plan("work", method=values["method"], seq_len=values["sequence_length"], rules="method")
    assert content() == before
    plan(str(WORK))
    assert content() == before
    assert confirmation(Workspace(WORK), "ours") is not None
    assert status(WORK).data["steps"][1]["state"] == "done"


def test_the_action_of_explain_leaves_a_confirmed_plan_alone() -> None:
    before = content()
    action = explain("learning_rate", plan=WORK).action or ""
    assert action.startswith("papertrain plan work --set learning_rate=")
    plan("work", sets=(action.rpartition(" ")[2],))
    assert content() == before


def test_a_new_value_is_kept_and_a_kept_one_can_be_said_again() -> None:
    plan("work", sets=("learning_rate=0.001",))
    changed = content()
    assert Workspace(WORK).plan().learning_rate.source.kind == "user"
    plan("work", sets=("learning_rate=0.001",))
    assert content() == changed
    assert confirmation(Workspace(WORK), "ours") is None


def test_a_sweep_does_not_say_that_nothing_changed() -> None:
    assert "nothing changed" not in plan("work", sweep="learning_rate").body


def test_the_help_of_output_tells_what_is_written_without_it() -> None:
    for verb in (plan, generate):
        said = next(p.arg.help for p in parameters(verb) if p.option == "--output")
        assert "nothing is written without it" not in said


def test_a_second_installation_of_the_skill_says_that_it_wrote_nothing() -> None:
    first, second = (skill("install", tool="claude-code") for _ in range(2))
    assert first.result.startswith("wrote") and "nothing was written" in second.result
