"""Every number leads back to a file; a changed file makes what rests on it stale, and everything that shows it says so."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "security"))
import scene

from papertrain import verbs
from papertrain.core.evidence import read_evidence, stale, superseded


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("evidence")
    scene.build(root)
    verbs.load("evaluate")([root / "work"])
    verbs.load("compare")([root / "work"], ours="ours", baseline="base")
    return root


@pytest.fixture
def work(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "p")
    return tmp_path / "p/work"


def changed(work: Path) -> str:
    """Another answer in one prediction file; returns an entry that rests on it."""
    file = work / "runs/ours.toy.1/predictions.csv"
    file.write_text(file.read_text().replace('0,"pos","pos"', '0,"pos","neg"'))
    return next(e.id for e in read_evidence(work) if e.file == "runs/ours.toy.1/predictions.csv")


def test_every_measured_number_of_the_answers_has_an_entry_with_its_source(work: Path) -> None:
    entries = {e.id: e for e in read_evidence(work)}
    report = verbs.load("compare")([work], ours="ours", baseline="base")
    cells = [c for row in report.data["table"]["cells"] for c in row if c["value"] is not None]
    assert cells and all(entries[c["evidence"]].value == c["value"] for c in cells)
    for e in entries.values():
        if e.value is not None:
            assert len(e.sha256) == 64 and (work / e.file).is_file() and e.made_by and e.read_at
            assert e.status in ("verified", "reported", "typed")


def test_an_entry_says_what_its_run_was_made_with(work: Path) -> None:
    e = next(e for e in read_evidence(work) if e.file == "runs/ours.toy.1/predictions.csv")
    assert (e.framework, e.device, e.seed) == ("torch 2.4.0", "cpu", 1)
    assert "torch 2.4.0, cpu" in verbs.load("explain")(e.id, plan=work).body


def test_nothing_is_stale_while_nothing_changed(work: Path) -> None:
    assert stale(work, read_evidence(work)) == {}
    assert verbs.load("compare")([work]).warnings == () or not any(
        "stale" in w for w in verbs.load("compare")([work]).warnings
    )


def test_a_changed_source_makes_its_entries_stale_and_the_mean_that_rests_on_them(work: Path) -> None:
    id = changed(work)
    held = stale(work, read_evidence(work))
    assert "has changed since it was read" in held[id]
    means = [e for e in read_evidence(work) if e.pointer.startswith("mean of ") and id in e.pointer]
    assert means and all(e.id in held for e in means)


def test_status_compare_report_explain_and_verify_all_say_so(work: Path, tmp_path: Path) -> None:
    id = changed(work)
    results = next(s for s in verbs.load("status")(work).data["steps"] if s["name"] == "results")
    assert results["state"] == "stale" and "predictions.csv has changed" in results["because"]
    assert "stale" in verbs.load("explain")(id, plan=work).explanation
    assert "stale: runs/ours.toy.1/predictions.csv has changed" in verbs.load("report")(work).data["html"]
    verbs.load("package")(work, output=tmp_path / "bundle")
    assert "stale" in str(verbs.load("package")(verify=tmp_path / "bundle").data["faults"])
    told = verbs.load("compare")([work], ours="ours", baseline="base", dry_run=True)
    assert any("stale" in w for w in told.warnings)


def test_read_anew_the_old_entries_stay_in_the_file_and_nothing_is_stale(work: Path, tmp_path: Path) -> None:
    id = changed(work)
    before = (work / "evidence.jsonl").read_text()
    verbs.load("evaluate")([work])
    verbs.load("compare")([work], ours="ours", baseline="base")
    assert (work / "evidence.jsonl").read_text().startswith(before), "append-only"
    assert stale(work, read_evidence(work)) == {} and id in superseded(read_evidence(work))
    assert "read anew later" in verbs.load("explain")(id, plan=work).explanation
    verbs.load("package")(work, output=tmp_path / "bundle")
    verdict = verbs.load("package")(verify=tmp_path / "bundle")
    assert verdict.data["verified"], verdict.data["faults"]


def test_explain_walks_back_from_a_mean_to_its_runs(work: Path) -> None:
    mean = next(e for e in read_evidence(work) if e.pointer.startswith("mean of "))
    told = verbs.load("explain")(mean.id, plan=work)
    assert "rests on" in told.body and "predictions.csv" in told.body and mean.sha256 in told.body


def test_a_number_that_was_recomputed_is_verified_and_a_tampered_one_is_found(work: Path, tmp_path: Path) -> None:
    lines = (work / "evidence.jsonl").read_text().splitlines()
    at = next(
        i
        for i, line in enumerate(lines)
        if json.loads(line)["status"] == "verified"
        and isinstance(json.loads(line)["value"], float)
        and not json.loads(line)["pointer"].startswith("mean")
    )
    entry = json.loads(lines[at])
    entry["value"] += 0.01
    (work / "evidence.jsonl").write_text("\n".join([*lines[:at], json.dumps(entry), *lines[at + 1 :]]) + "\n")
    verbs.load("package")(work, output=tmp_path / "bundle")
    faults = verbs.load("package")(verify=tmp_path / "bundle").data["faults"]
    assert any(f["says"].startswith(f"{entry['id']}:") for f in faults), faults


def test_a_number_that_a_person_typed_is_shown_as_typed(tmp_path: Path) -> None:
    (tmp_path / "typed.csv").write_text("method,dataset,metric,value,status\nours,toy,accuracy,0.8,typed\n")
    report = verbs.load("compare")([tmp_path / "typed.csv"], output=tmp_path / "out")
    statuses = {c["status"] for row in report.data["table"]["cells"] for c in row}
    assert statuses <= {"typed", "reported"} and "verified" not in statuses


def test_a_missing_cell_stays_empty_with_its_reason(work: Path) -> None:
    (work / "runs/base.toy.1/predictions.csv").unlink()
    shutil.rmtree(work / "results/base.toy.1")
    (work / "runs/base.toy.1/trainer_state.json").unlink()
    report = verbs.load("compare")([work], ours="ours", baseline="base", metrics=["accuracy"])
    row = report.data["table"]["cells"][report.data["table"]["rows"].index("base")]
    assert all(c["value"] is None and c["reason"] and c["status"] == "missing" for c in row)


def test_a_torn_or_foreign_line_does_not_stop_the_reading(work: Path) -> None:
    count = len(read_evidence(work))
    with (work / "evidence.jsonl").open("a") as f:
        f.write('{"id": "E1", "cl\n[]\nnull\n' + "[" * 5000 + "\n")
    assert len(read_evidence(work)) == count


def _altered(work: Path, change: Callable[[list[str]], list[str]]) -> None:
    file = work / "evidence.jsonl"
    file.write_text("\n".join(change(file.read_text().splitlines())) + "\n")


def _faults(work: Path, bundle: Path) -> str:
    verbs.load("package")(work, output=bundle)
    return " | ".join(f["says"] for f in verbs.load("package")(verify=bundle).data["faults"])


def test_the_mean_of_a_table_is_computed_again_from_what_it_is_the_mean_of(work: Path, tmp_path: Path) -> None:
    """The numbers of the paper are means over seeds: an altered one must not pass where its parts still hold."""
    mean = next(e for e in read_evidence(work) if e.pointer.startswith("mean of "))
    assert "(verified)" in verbs.load("explain")(mean.id, plan=work).result
    assert not _faults(work, tmp_path / "whole")
    _altered(
        work,
        lambda lines: [
            x.replace(f'"value": {mean.value}', '"value": 0.9517') if f'"{mean.id}"' in x else x for x in lines
        ],
    )
    assert f"evidence says 0.9517, the {mean.pointer} is" in _faults(work, tmp_path / "altered")
    answer = verbs.load("explain")(mean.id, plan=work)
    assert "(verified)" not in answer.result and mean.pointer in answer.explanation


def test_an_altered_value_is_never_explained_as_verified(work: Path) -> None:
    one = next(e for e in read_evidence(work) if e.status == "verified" and not e.pointer.startswith("mean of "))
    assert "(verified)" in verbs.load("explain")(one.id, plan=work).result
    _altered(
        work,
        lambda lines: [
            x.replace(f'"value": {one.value}', '"value": 0.9617') if f'"{one.id}"' in x else x for x in lines
        ],
    )
    answer = verbs.load("explain")(one.id, plan=work)
    assert f"not what its source says: {one.value}" in answer.result and "altered" in answer.explanation


@pytest.mark.parametrize(("change", "says"), [
    (lambda lines: [lines[0].replace('"value"', '"value', 1), *lines[1:]], "line 1 cannot be read"),
    (lambda lines: [lines[0], *lines[2:]], "E2 is not there: lines were taken out"),
    (lambda lines: [lines[0].replace('"verified"', '"missing"'), *lines[1:]], "E1 is called missing and has the value"),
    (lambda lines: [*lines, lines[0].replace('"value": ', '"value": 1')], "E1 stands there a second time, and says something else"),
])  # fmt: skip
def test_lines_that_were_tampered_with_are_told_by_status_package_and_verify(change: Callable[[list[str]], list[str]], says: str, work: Path, tmp_path: Path) -> None:  # fmt: skip
    _altered(work, change)
    assert says in " | ".join(verbs.load("status")(work).warnings)
    assert says in " | ".join(verbs.load("package")(work, output=tmp_path / "b").warnings)
    assert says in " | ".join(f["says"] for f in verbs.load("package")(verify=tmp_path / "b").data["faults"])
