"""`evaluate` and `compare` of a workspace say alike what speaks against its numbers: stale runs, test rows trained on."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).resolve().parent))
from scored import A, predictions
from workspaces import make_workspace

from papertrain.core.report import Report
from papertrain.core.workspace import Workspace
from papertrain.verbs.compare import compare
from papertrain.verbs.evaluate import evaluate
from papertrain.verbs.evaluating import standing


def answers(work: Path) -> list[Report]:
    return [evaluate([work], dry_run=True), compare([work], dry_run=True)]


def rows(path: Path, names: list[str]) -> None:
    path.write_text("".join(json.dumps({"instruction": n, "input": "", "output": "b"}) + "\n" for n in names))


@pytest.fixture
def work(tmp_path: Path) -> Path:
    made = make_workspace(tmp_path, command="true", more="")
    rows(tmp_path / "train.jsonl", [f"train {i}" for i in range(20)])
    rows(tmp_path / "test.jsonl", [f"test {i}" for i in range(10)])
    for run in ("ours.toy.1", "ours.toy.2", "base.toy.1"):
        predictions(made / f"runs/{run}/predictions.csv", A)
    return made


def ended(work: Path, run: str, **more: object) -> None:
    digest = Workspace.open(work).plan_digest("ours")
    (work / f"runs/{run}/record.json").write_text(json.dumps({"exit_code": 0, "plan_digest": digest, **more}))


def test_a_run_of_an_earlier_plan_is_said_to_be_stale_by_both_verbs(work: Path) -> None:
    ended(work, "ours.toy.1", plan_digest="0" * 64)
    ended(work, "ours.toy.2")
    (stale,) = [r for r in Workspace.open(work).grid() if r.state == "stale"]
    for report in answers(work):
        assert f"ours.toy.1 is stale: {stale.because}" in report.warnings, report.verb
        assert not any("ours.toy.2 is stale" in w for w in report.warnings)


def test_of_many_stale_runs_the_first_are_named_and_the_rest_counted(work: Path) -> None:
    run = Workspace.open(work).grid()[0]
    said = standing.stale_runs([replace(run, state="stale", because="old", seed=n) for n in range(8)])
    assert len(said) == 4 and said[-1] == "5 more runs are stale"


def test_test_rows_that_stand_in_the_training_data_are_counted_with_their_lines(work: Path) -> None:
    assert not any("memory" in w for r in answers(work) for w in r.warnings)
    rows(work.parent / "test.jsonl", [f"test {i}" for i in range(8)] + ["train 3", "train 5"])
    for report in answers(work):
        assert (
            "toy: 2 of 10 rows of test.jsonl stand in train.jsonl too (20.0 %): the first is line 9, there line 4; "
            "what is measured on them is memory"
        ) in report.warnings, report.verb


def test_large_files_are_left_to_check(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows(work.parent / "test.jsonl", ["train 3"])
    assert len(standing.trained_on(Workspace.open(work))) == 1
    monkeypatch.setattr(standing, "QUICK", 100)
    assert standing.trained_on(Workspace.open(work)) == ()


def test_a_damaged_plan_does_not_hide_the_overlap(work: Path) -> None:
    rows(work.parent / "test.jsonl", ["train 3"])
    (work / "plans/base").mkdir()
    (work / "plans/base/plan.json").write_text("{")
    assert len(standing.trained_on(Workspace.open(work))) == 1


@pytest.mark.parametrize("damage", ["absent", "binary", "folder"])
def test_what_cannot_be_read_is_no_overlap_and_stops_nothing(work: Path, damage: str) -> None:
    test = work.parent / "test.jsonl"
    test.unlink()
    if damage == "folder":
        test.mkdir()
    elif damage == "binary":
        test.write_bytes(b"\x00\xff" * 50)
    assert standing.trained_on(Workspace.open(work)) == ()
