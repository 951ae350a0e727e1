"""`fix` shows first, applies exactly, keeps the way back, and refuses what has changed."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from workspaces import make_workspace

from papertrain.core.errors import PapertrainError, Refused
from papertrain.verbs.check import check
from papertrain.verbs.diagnose import diagnose
from papertrain.verbs.fix import fix
from papertrain.verbs.fixing import applying

NAN = (
    "{'loss': 1.71, 'grad_norm': 7.9, 'learning_rate': 1.2e-07, 'epoch': 0.01}\n"
    "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 2.4e-07, 'epoch': 0.02}\n{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 3.6e-07, 'epoch': 0.03}\n"
)
DS = '{\n  "bf16": {"enabled": true},\n  "wandb_api_key": "0123456789abcdef0123456789abcdef01234567",\n  "zero_optimization": {"stage": 2, "overlap_comm": true}\n}\n'


@pytest.fixture
def loose(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "train.log").write_text(NAN)
    (tmp_path / "ds.json").write_text(DS)
    return tmp_path / "ds.json", tmp_path / "train.log"


def test_without_yes_nothing_is_written(loose: tuple[Path, Path]) -> None:
    ds, log = loose
    report = fix(ds, "D1.F1", log=[log])
    assert ds.read_text() == DS and '"overlap_comm": false' in report.body and report.exit_code() == 0
    assert report.action and report.action.endswith("--yes") and not report.data["applied"]


def test_a_dry_run_shows_the_same_and_writes_nothing_whatever_else_is_asked(loose: tuple[Path, Path]) -> None:
    ds, log = loose
    before = {f: f.read_bytes() for f in ds.parent.rglob("*") if f.is_file()}
    report = fix(ds, "D1.F1", log=[log], yes=True, try_=True, dry_run=True)
    assert report == fix(ds, "D1.F1", log=[log])
    assert '"overlap_comm": false' in report.body and not report.data["applied"]
    assert {f: f.read_bytes() for f in ds.parent.rglob("*") if f.is_file()} == before


def test_a_dry_run_of_a_finding_writes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "sft.json"
    file.write_text(
        '{"learning_rat": 1e-5, "stage": "sft", "template": "qwen", "model_name_or_path": "x", "dataset": "y"}'
    )
    (found,) = [f for f in check([file]).data["findings"] if f["rule"] == "TR201"]
    shown = fix(file, found["id"], yes=True, dry_run=True)
    assert not shown.data["applied"] and "learning_rate" in shown.body
    assert [f.name for f in tmp_path.iterdir()] == ["sft.json"] and 'learning_rat"' in file.read_text()
    assert fix(file, found["id"], yes=True).data["applied"]


def test_with_yes_one_value_changes_and_the_user_s_own_secret_stays(loose: tuple[Path, Path]) -> None:
    ds, log = loose
    report = fix(ds, "D1.F1", log=[log], yes=True)
    assert ds.read_text() == DS.replace('"overlap_comm": true', '"overlap_comm": false')
    assert report.data["applied"] and "check after the change" in report.data["proof"]


def test_the_way_back_restores_every_byte(loose: tuple[Path, Path]) -> None:
    ds, log = loose
    reverse = Path(fix(ds, "D1.F1", log=[log], yes=True).data["reverse"])
    assert applying.apply_hunks(ds.read_text(), reverse.read_text(), "ds.json") == DS
    note = reverse.with_suffix(".md").read_text()
    assert "## To be seen when it runs" in note and "train.log:2" in note


def test_it_is_not_applied_twice(loose: tuple[Path, Path]) -> None:
    ds, log = loose
    fix(ds, "D1.F1", log=[log], yes=True)
    with pytest.raises(Refused, match="already"):
        fix(ds, "D1.F1", log=[log], yes=True)


def test_a_digest_that_no_longer_holds_is_refused(loose: tuple[Path, Path]) -> None:
    ds, log = loose
    with pytest.raises(Refused, match="changed"):
        fix(ds, "D1.F1@00000000", log=[log], yes=True)


def test_unknown_ids_name_the_known_ones(loose: tuple[Path, Path]) -> None:
    ds, log = loose
    with pytest.raises(PapertrainError, match=r"D1\.F1"):
        fix(ds, "D9.F9", log=[log])
    with pytest.raises(PapertrainError, match="which log"):
        fix(ds, "D1.F1")
    with pytest.raises(PapertrainError, match="no such file"):
        fix(ds.parent / "nowhere", "D1.F1")


def test_a_finding_of_check_is_applied_by_its_id(tmp_path: Path) -> None:
    from papertrain.verbs.check import check

    config = tmp_path / "sft.yaml"
    config.write_text(
        "model_name_or_path: m\nstage: sft\nfinetuning_type: lora\ntemplate: qwen\ndataset: d\noutput_dir: o\nlora_rankk: 8\n"
    )
    found = [f for f in check([config]).data["findings"] if f["patch"]]
    if not found:
        pytest.skip("check proposes no patch for this file")
    report = fix(config, found[0]["id"], yes=True)
    assert report.data["applied"] and found[0]["id"] not in {f["id"] for f in check([config]).data["findings"]}
    with pytest.raises(PapertrainError, match="no finding"):
        fix(config, "F-TR000-deadbeef", yes=True)


def planted(tmp_path: Path) -> Path:
    work = make_workspace(tmp_path)
    run = work / "runs/ours.train.42"
    run.mkdir(parents=True)
    rows = [
        {
            "step": i,
            "loss": 2.5 - 0.05 * i if i < 25 else 1.25 + 0.22 * (i - 25),
            "grad_norm": 1.0 if i < 24 else 1.5 * (i - 22),
            "learning_rate": 1e-3,
        }
        for i in range(1, 60)
    ]
    (run / "train_log.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    (run / "record.json").write_text('{"exit_code": 0}')
    return work


def test_standard_mode_waits_for_a_confirmed_plan_before_it_changes_the_experiment(tmp_path: Path) -> None:
    work = planted(tmp_path)
    found = diagnose([work]).data["diagnoses"][0]
    experiment = next(f["id"] for f in found["fixes"] if f["effect"] == "experiment" and f["edits"])
    before = (work / "plans/ours/plan.json").read_bytes()
    with pytest.raises(Refused) as refused:
        fix(work, experiment, yes=True, mode="standard")
    assert refused.value.exit == 3 and (work / "plans/ours/plan.json").read_bytes() == before


def test_a_plan_that_changed_since_the_diagnosis_is_refused(tmp_path: Path) -> None:
    work = planted(tmp_path)
    found = diagnose([work]).data["diagnoses"][0]
    id = next(f["id"] for f in found["fixes"] if f["edits"])
    file = work / "plans/ours/plan.json"
    file.write_text(file.read_text() + "\n")
    with pytest.raises(Refused, match="changed"):
        fix(work, id, yes=True)


def test_rows_that_no_class_has_are_dropped_only_when_told_to(tmp_path: Path) -> None:
    work = make_workspace(tmp_path)
    run = work / "runs/ours.train.42"
    run.mkdir(parents=True)
    data = work / "data/train.csv"
    data.parent.mkdir()
    data.write_text('id,text,label\n1,good,1\n2,"two\nlines",2\n3,bad,0\n4,odd,7\n')
    (run / "args.json").write_text('{"train_file": "data/train.csv", "num_labels": 2, "labels": ["0", "1"]}')
    (run / "stdout.log").write_text(
        'Traceback (most recent call last):\n  File "train.py", line 3, in f\nIndexError: Target 2 is out of bounds.\n'
    )
    (run / "record.json").write_text('{"exit_code": 1}')
    before = data.read_text()
    found = diagnose([run]).data["diagnoses"][0]
    assert found["class"] == "device-assert-label-range" and data.read_text() == before
    first = found["fixes"][0]
    assert first["effect"] == "experiment" and "lines 3, 6" in first["title"] and first["patch"]
    fix(run, first["id"], yes=True)
    assert data.read_text() == "id,text,label\n1,good,1\n3,bad,0\n"


def test_hunks_are_exact_and_agree_with_the_patch_program(tmp_path: Path) -> None:
    from papertrain.core.files import unified

    old = "".join(f"line {i}\n" for i in range(40))
    new = (
        old.replace("line 3\n", "line three\nline three and a half\n").replace("line 30\n", "").removesuffix("\n")
        + " end"
    )
    diff = unified(old, new, "f.txt")
    assert applying.apply_hunks(old, diff, "f.txt") == new
    with pytest.raises(Refused):
        applying.apply_hunks(old.replace("line 29", "line 29 edited"), diff, "f.txt")
    (tmp_path / "f.txt").write_text(old)
    try:
        subprocess.run(["patch", "-p1"], input=diff, text=True, cwd=tmp_path, check=True, capture_output=True)
    except FileNotFoundError:
        return
    assert (tmp_path / "f.txt").read_text() == new
