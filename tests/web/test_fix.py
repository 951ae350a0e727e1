"""A fix is applied from the page only as it was shown: the same bytes, the same refusals as the command's."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette.testclient", reason="the page needs papertrain[serve]")

from starlette.testclient import TestClient

from papertrain import verbs
from papertrain.web.app import build

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "verbs"))
from workspaces import make_workspace

TOKEN = "the-token"
NAN = (
    "{'loss': 1.71, 'grad_norm': 7.9, 'learning_rate': 1.2e-07, 'epoch': 0.01}\n"
    "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 2.4e-07, 'epoch': 0.02}\n{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 3.6e-07, 'epoch': 0.03}\n"
)
DS = '{\n  "bf16": {"enabled": true},\n  "zero_optimization": {"stage": 2, "overlap_comm": true}\n}\n'
BLOWN = "".join(
    json.dumps({"step": i, "total_steps": 400, "loss": 2.0 if i < 20 else 2.0 * 1.6 ** min(i - 19, 40), "grad_norm": 1.0 if i < 20 else 50.0 * i, "learning_rate": 0.2}) + "\n"
    for i in range(1, 81)
)  # fmt: skip


def client(folder: Path, *, writing: bool) -> TestClient:
    app = build([folder], TOKEN, 8765, writing=writing)
    return TestClient(app, base_url="http://localhost:8765", cookies={"papertrain": TOKEN}, follow_redirects=False)


@pytest.fixture
def loose(tmp_path: Path) -> Path:
    (tmp_path / "train.log").write_text(NAN)
    (tmp_path / "ds.json").write_text(DS)
    return tmp_path


FILES = {"log_file": "train.log", "config_file": "ds.json"}


def test_a_config_of_the_served_folder_is_patched_as_it_was_shown(loose: Path) -> None:
    page = client(loose, writing=True)
    answer = page.post("/api/diagnose", json=FILES).json()
    assert "nan-deepspeed-overlap-comm" in answer["classes"] and 'data-fix="D1.F1"' in answer["html"]
    shown = page.post("/api/fix", json={**FILES, "id": "D1.F1"}).json()
    assert (loose / "ds.json").read_text() == DS, "showing writes nothing"
    done = page.post("/api/apply", json={**FILES, "id": "D1.F1", "digest": shown["digest"]})
    assert done.status_code == 200 and done.json()["applied"]
    assert (loose / "ds.json").read_text() == shown["texts"]["ds.json"] == DS.replace("true}", "false}", 2).replace('"enabled": false', '"enabled": true')  # fmt: skip
    assert list((loose / ".papertrain" / "debug").glob("*.patch")), "the way back"


def test_without_write_and_after_a_change_nothing_is_applied(loose: Path) -> None:
    shown = client(loose, writing=False).post("/api/fix", json={**FILES, "id": "D1.F1"}).json()
    asked = {**FILES, "id": "D1.F1", "digest": shown["digest"]}
    assert not shown["writing"] and client(loose, writing=False).post("/api/apply", json=asked).status_code == 400
    page = client(loose, writing=True)
    assert page.post("/api/apply", json={**asked, "digest": "0" * 64}).status_code == 400
    (loose / "ds.json").write_text(DS.replace('"stage": 2', '"stage":  2'))
    assert page.post("/api/apply", json=asked).status_code == 400
    assert '"overlap_comm": true' in (loose / "ds.json").read_text()


@pytest.mark.parametrize("name", ["../secret.json", "/etc/hostname", "ds.json/../../secret.json"])
def test_a_file_outside_of_the_served_folder_is_neither_read_nor_changed(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.json").write_text(DS)
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "train.log").write_text(NAN)
    page = client(folder, writing=True)
    for asked in ({"log_file": "train.log", "config_file": name}, {"log_file": name}):
        for path in ("/api/diagnose", "/api/fix", "/api/apply"):
            assert page.post(path, json={**asked, "id": "D1.F1", "digest": ""}).status_code in (400, 404), path
    assert (tmp_path / "secret.json").read_text() == DS


def planned(tmp_path: Path, *, mode: str = "") -> tuple[Path, dict[str, Any]]:
    """A real workspace with configs, whose run blew up; and the question that names the run."""
    rows = "".join(json.dumps({"instruction": f"say {i}", "input": "", "output": f"{i} it is"}) + "\n" for i in range(200))  # fmt: skip
    (tmp_path / "train.jsonl").write_text(rows)
    work = tmp_path / "work"
    verbs.load("plan")("Qwen/Qwen2.5-0.5B-Instruct", data=tmp_path / "train.jsonl", gpu="1x 4090", method="lora", sets=["learning_rate=0.2"], output=work)  # fmt: skip
    if mode:
        (work / "study.toml").write_text(f'[study]\nmode = "{mode}"\n[methods.ours]\n[datasets.train]\ntrain = "../train.jsonl"\n')  # fmt: skip
    verbs.load("generate")(work)
    run = work / "runs" / "ours.train.42"
    run.mkdir(parents=True)
    (run / "train_log.jsonl").write_text(BLOWN)
    (run / "record.json").write_text('{"run": "ours.train.42", "exit_code": 1}')
    return work, {"work": 0, "run": "ours.train.42"}


def fix_of_plan(page: TestClient, asked: dict[str, Any]) -> str:
    """The id of the first fix that changes a knob of the plan."""
    html = page.post("/api/diagnose", json=asked).json()["html"]
    return str(html.split('data-fix="')[1].split('"')[0])


def test_a_fix_of_the_plan_writes_every_file_as_it_was_shown(tmp_path: Path) -> None:
    work, asked = planned(tmp_path)
    page = client(work, writing=True)
    asked["id"] = fix_of_plan(page, asked)
    before = {p: p.read_bytes() for p in work.rglob("*") if p.is_file() and ".papertrain" not in p.parts}
    shown = page.post("/api/fix", json=asked).json()
    assert {"plans/ours/plan.json", "plans/ours/plan.md"} <= set(shown["texts"]) and any(n.startswith("configs/") for n in shown["texts"])  # fmt: skip
    assert {p: p.read_bytes() for p in before} == before, "showing writes nothing"
    done = page.post("/api/apply", json={**asked, "digest": shown["digest"]})
    assert done.status_code == 200, done.text
    for name, text in shown["texts"].items():
        assert (work / name).read_text() == text, f"{name}: other bytes than were shown"
    changed = {p.relative_to(work).as_posix() for p, old in before.items() if p.read_bytes() != old}
    assert changed <= set(shown["texts"]), "a file was changed that was not shown"


def test_the_newest_diagnosis_beside_a_run_can_be_applied_there_too(tmp_path: Path) -> None:
    work, asked = planned(tmp_path)
    page = client(work, writing=True)
    page.post("/api/diagnose", json=asked)  # kept beside the run, since the page may write
    shown = page.get("/w/0/run?run=ours.train.42").text
    assert 'class="propose" data-fix="D1.F1"' in shown and page.get("/report/0/file").text.count("data-fix") == 0


def test_a_fix_that_changes_the_experiment_waits_for_the_confirmation(tmp_path: Path) -> None:
    work, asked = planned(tmp_path, mode="standard")
    page = client(work, writing=True)
    answer = page.post("/api/fix", json={**asked, "id": fix_of_plan(page, asked)})
    assert answer.status_code == 400 and "not confirmed" in answer.json()["error"]
    assert f"papertrain status {work} --confirm derive" in answer.json()["error"], "and what would work"


def test_a_file_that_a_person_edited_is_said_to_be_left_alone(tmp_path: Path) -> None:
    work, asked = planned(tmp_path)
    page = client(work, writing=True)
    mine = next(p for p in (work / "configs").rglob("*.yaml"))
    mine.write_text(mine.read_text() + "# mine\n")
    shown = page.post("/api/fix", json={**asked, "id": fix_of_plan(page, asked)}).json()
    name = mine.relative_to(work).as_posix()
    assert name not in shown["texts"] and name in shown["html"]


def test_a_recorded_fix_of_a_file_elsewhere_is_refused(tmp_path: Path) -> None:
    """debug/1.json may come with a workspace from elsewhere: what it names is no permission."""
    import hashlib

    work = make_workspace(tmp_path)
    victim = tmp_path / "ds.json"
    victim.write_text(DS)
    run = work / "runs" / "ours.train.42"
    (run / "debug").mkdir(parents=True)
    (run / "train.log").write_text(NAN)
    patch = '--- a/ds.json\n+++ b/ds.json\n@@ -1,4 +1,4 @@\n {\n-  "bf16": {"enabled": true},\n+  "bf16": {"enabled": false},\n   "zero_optimization": {"stage": 2, "overlap_comm": true}\n }\n'
    fix = {"id": "D1.F1", "title": "x", "effect": "execution", "patch": patch, "edits": [{"file": str(victim), "key": "bf16", "old": 1, "new": 0}], "commands": [], "proof": "",
           "applies_to": [{"file": str(victim), "sha256": hashlib.sha256(DS.encode()).hexdigest()}]}  # fmt: skip
    stored = {"id": "D1", "class": "x", "title": "x", "cause": "x", "confidence": 0.9, "evidence": [], "fixes": [fix]}
    (run / "debug" / "1.json").write_text(json.dumps({"diagnoses": [stored]}))
    asked = {"work": 0, "run": "ours.train.42", "id": "D1.F1", "digest": ""}
    page = client(work, writing=True)
    assert page.post("/api/fix", json=asked).status_code == 400 and page.post("/api/apply", json=asked).status_code == 400  # fmt: skip
    assert victim.read_text() == DS
    elsewhere = tmp_path / "copy"
    shutil.copytree(work, elsewhere)
    assert client(elsewhere, writing=True).post("/api/fix", json=asked).status_code == 400
