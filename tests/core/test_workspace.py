"""A workspace is a study; a study of one needs no file; the gate stands where something is spent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from papertrain.core.errors import PapertrainError, Refused
from papertrain.core.evidence import append_evidence, read_evidence
from papertrain.core.gate import confirm, confirmation, decide_mode, require_confirmed
from papertrain.core.results import Evidence
from papertrain.core.workspace import Workspace, split_run_id
from papertrain.core.writing import Writer

STUDY = """\
[study]
name = "reviews"
ours = "minilm"
baselines = ["tfidf"]
seeds = [1, 2, 3]

[methods.minilm]
[methods.tfidf]
kind = "command"
command = "python tfidf.py --seed {seed}"
seeds = [1]

[datasets.reviews]
test = "test.csv"
"""


@pytest.fixture
def work(tmp_path: Path) -> Workspace:
    (tmp_path / "study.toml").write_text(STUDY)
    plan = tmp_path / "plans/minilm"
    plan.mkdir(parents=True)
    (plan / "plan.json").write_text("{}")
    return Workspace.open(tmp_path)


def test_the_grid_is_methods_times_data_times_seeds(work: Workspace) -> None:
    assert [r.id for r in work.grid()] == [
        "minilm.reviews.1",
        "minilm.reviews.2",
        "minilm.reviews.3",
        "tfidf.reviews.1",
    ]


def test_a_runs_state_comes_from_its_record(work: Workspace) -> None:
    for seed, record in ((1, {"exit_code": 0}), (2, {"exit_code": -9}), (3, {"exit_code": None, "pid": 2**22 + 7})):
        folder = work.run_path(f"minilm.reviews.{seed}")
        folder.mkdir(parents=True)
        (folder / "record.json").write_text(json.dumps(record))
    assert [r.state for r in work.grid()] == ["done", "failed", "interrupted", "missing"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[study\n", "TOML"),
        ("[studdy]\n", "study"),
        ("[[methods]]\nname = 'x'\n", "must be a table"),
        ("[study]\nname='x'\n", "at least one"),
        (STUDY.replace('ours = "minilm"', 'ours = "minillm"'), "minillm"),
        (STUDY.replace("[methods.minilm]", '[methods."a b"]'), "cannot be a name"),
        (STUDY.replace("seeds = [1]", 'seeds = "one"'), "seeds"),
    ],
)
def test_a_broken_study_is_one_error_that_names_the_file(work: Workspace, text: str, says: str) -> None:
    (work.root / "study.toml").write_text(text)
    with pytest.raises(PapertrainError) as caught:
        _ = work.study
    assert (says in caught.value.one_line() and "study.toml" in caught.value.one_line()) or caught.value.nearest


def test_a_folder_without_a_plan_is_no_workspace(tmp_path: Path) -> None:
    for bad in (tmp_path, tmp_path / "none"):
        with pytest.raises(PapertrainError) as caught:
            Workspace.open(bad)
        assert caught.value.exit == 2 and caught.value.command


def test_a_confirmation_holds_for_the_plan_at_its_digest_only(work: Workspace) -> None:
    with pytest.raises(Refused) as caught:
        require_confirmed(work, "minilm", "standard", "launch")
    assert caught.value.exit == 3 and "--confirm" in (caught.value.command or "")
    confirm(work, "minilm")
    require_confirmed(work, "minilm", "standard", "launch")
    work.plan_path("minilm").write_text('{"changed": 1}')
    assert confirmation(work, "minilm") is None
    with pytest.raises(Refused, match="changed since"):
        require_confirmed(work, "minilm", "standard", "launch")
    require_confirmed(work, "minilm", "quick", "launch")


def test_the_mode_follows_from_the_place(tmp_path: Path) -> None:
    assert decide_mode(None, None) == "exploratory"
    assert decide_mode(None, tmp_path) == "quick"
    assert decide_mode("exploratory", tmp_path) == "exploratory"
    (tmp_path / "paper-project.yaml").write_text("title: x\n")
    (tmp_path / "work").mkdir()
    assert decide_mode(None, tmp_path / "work") == "standard"


def test_evidence_keeps_its_ids_and_is_never_written_twice(tmp_path: Path) -> None:
    def entry(value: float) -> Evidence:
        return Evidence(id="", claim="accuracy", value=value, file="x.csv", sha256="0", status="verified")

    with Writer(tmp_path) as w:
        assert [e.id for e in append_evidence(w, tmp_path, [entry(0.5), entry(0.6)])] == ["E1", "E2"]
    with Writer(tmp_path) as w:
        assert [e.id for e in append_evidence(w, tmp_path, [entry(0.6), entry(0.7)])] == ["E2", "E3"]
    assert [e.value for e in read_evidence(tmp_path)] == [0.5, 0.6, 0.7]


def test_a_run_id_comes_apart_again() -> None:
    assert split_run_id("ours.reviews.1") == ("ours", "reviews", 1)
    with pytest.raises(PapertrainError):
        split_run_id("ours.reviews")
