"""A package holds what can be shown, verifies offline, and notices one changed byte."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from papertrain import verbs
from papertrain.core.errors import PapertrainError, Refused
from papertrain.core.evidence import append_evidence
from papertrain.core.files import sha256_file
from papertrain.core.results import Evidence
from papertrain.core.workspace import Workspace
from papertrain.core.writing import Writer
from papertrain.evidence.anonymous import traces
from papertrain.evidence.runbook import for_a_stranger
from papertrain.evidence.verify import follow

CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
          "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 1000, "max_position_embeddings": 512}  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("made")
    model = root / "tiny"
    model.mkdir()
    (model / "config.json").write_text(json.dumps(CONFIG))
    data = root / "train.jsonl"
    data.write_text(
        "".join(
            json.dumps({"instruction": f"Add {i} and 1.", "input": "", "output": f"{i + 1}"}) + "\n" for i in range(50)
        )
    )
    verbs.load("plan")(str(model), data=data, gpu="1x A100-80GB", method="lora", output=root / "work")
    return root


@pytest.fixture
def work(made: Path, tmp_path: Path) -> Path:
    place = tmp_path / "work"
    shutil.copytree(made / "work", place)
    run = place / "runs/ours.train.42"
    run.mkdir(parents=True)
    (run / "record.json").write_text(
        json.dumps({"exit_code": 0, "command": ["python", "train.py"], "seed": 42, "host": "/home/alice/x"})
    )
    (run / "train_log.jsonl").write_text('{"step": 1, "loss": 2.5}\n')
    (run / "model.safetensors").write_bytes(b"\x00" * 100)
    results = place / "results/ours.train.42"
    results.mkdir(parents=True)
    (results / "metrics.json").write_text('{"accuracy": 0.75}')
    entry = Evidence(
        id="", claim="accuracy of ours on train", value=0.75, file="results/ours.train.42/metrics.json",
        sha256=sha256_file(results / "metrics.json"), pointer="/accuracy", status="verified",
    )  # fmt: skip
    with Writer(place) as w:
        append_evidence(w, place, [entry])
    return place


def test_a_package_verifies_and_one_changed_byte_is_noticed(work: Path, tmp_path: Path) -> None:
    report = verbs.load("package")(work, output=tmp_path / "bundle")
    assert {"MANIFEST.json", "README.md", "CHECKLIST.md", "index.json", "evidence.jsonl"} <= set(report.data["files"])
    checked = verbs.load("package")(verify=tmp_path / "bundle")
    assert checked.level == "ok" and checked.data["reread"] == 1
    for name in ("plans/ours/plan.json", "README.md", "results/ours.train.42/metrics.json"):
        file = tmp_path / "bundle" / name
        data = file.read_bytes()
        file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        assert verbs.load("package")(verify=tmp_path / "bundle").level == "error", name
        file.write_bytes(data)
    (tmp_path / "bundle/extra.txt").write_text("x")
    assert "not in the manifest" in str(verbs.load("package")(verify=tmp_path / "bundle").data["faults"])


def test_a_number_that_its_source_does_not_hold_is_a_fault(work: Path, tmp_path: Path) -> None:
    lines = (work / "evidence.jsonl").read_text().replace("0.75", "0.85")
    (work / "evidence.jsonl").write_text(lines)
    verbs.load("package")(work, output=tmp_path / "bundle")
    faults = verbs.load("package")(verify=tmp_path / "bundle").data["faults"]
    assert len(faults) == 1 and "evidence says 0.85, the file says 0.75" in faults[0]["says"]


def test_a_source_that_changed_after_the_number_was_read_is_stale(work: Path, tmp_path: Path) -> None:
    (work / "results/ours.train.42/metrics.json").write_text('{"accuracy": 0.75, "n": 1}')
    verbs.load("package")(work, output=tmp_path / "bundle")
    assert "stale" in str(verbs.load("package")(verify=tmp_path / "bundle").data["faults"])


def test_the_same_workspace_gives_the_same_bytes(work: Path, tmp_path: Path) -> None:
    for name in ("a.zip", "b.zip"):
        verbs.load("package")(work, output=tmp_path / name)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    assert verbs.load("package")(verify=tmp_path / "a.zip").level == "ok"


def test_weights_stay_behind_and_private_names_are_replaced(work: Path, tmp_path: Path) -> None:
    report = verbs.load("package")(work, output=tmp_path / "bundle")
    assert "runs/ours.train.42/model.safetensors" in {x["name"] for x in report.data["left_out"]}
    assert "alice" not in (tmp_path / "bundle/runs/ours.train.42/record.json").read_text()


def test_it_is_not_complete_while_a_step_is_open(work: Path, tmp_path: Path) -> None:
    report = verbs.load("package")(work, output=tmp_path / "bundle")
    assert report.data["complete"] is False and any("configs" in m for m in report.data["missing"])
    assert json.loads((tmp_path / "bundle/MANIFEST.json").read_text())["complete"] is False


def test_verification_repeats_what_is_missing_and_names_what_to_read(work: Path, tmp_path: Path) -> None:
    made = verbs.load("package")(work, output=tmp_path / "bundle").data["missing"]
    answer = verbs.load("package")(verify=tmp_path / "bundle")
    assert made and answer.data["missing"] == made
    assert f"not complete: {len(made)} things are missing" in answer.result
    assert all(m in answer.body for m in made[:10])
    shown = subprocess.run(["sh", "-c", str(answer.action)], capture_output=True, text=True, check=True).stdout
    assert shown == (tmp_path / "bundle/README.md").read_text()
    verbs.load("package")(work, output=tmp_path / "other.zip")
    subprocess.run(["sh", "-c", str(verbs.load("package")(verify=tmp_path / "other.zip").action)], check=True)
    assert (tmp_path / "other/README.md").read_text() == shown


def test_a_second_package_takes_away_what_is_no_longer_packed(work: Path, tmp_path: Path) -> None:
    verbs.load("package")(work, output=tmp_path / "bundle")
    (work / "runs/ours.train.42/train_log.jsonl").unlink()
    verbs.load("package")(work, output=tmp_path / "bundle")
    assert not (tmp_path / "bundle/runs/ours.train.42/train_log.jsonl").exists()
    assert verbs.load("package")(verify=tmp_path / "bundle").level == "ok"


def test_an_anonymous_package_names_no_author(work: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "."], cwd=work, check=True)
    subprocess.run(["git", "config", "user.name", "Ada Lovelace"], cwd=work, check=True)
    subprocess.run(["git", "remote", "add", "o", "git@github.com:analytical-engine/notes.git"], cwd=work, check=True)
    (work / "paper-project.yaml").write_text(
        "authors:\n  - name: Grace Hopper\n    affiliation: Navy Yard\nanonymity: true\n"
    )
    assert any("anonymous" in w for w in verbs.load("package")(work, output=tmp_path / "open").warnings)
    (work / "runs/ours.train.42/other.md").write_text("with Grace Hopper of Navy Yard, at analytical-engine\n")
    (work / "runs/ours.train.42/note.md").write_text(
        "run by Ada Lovelace, see github.com/ada/secret-paper, ada@example.org\n"
    )
    verbs.load("package")(work, output=tmp_path / "bundle", anonymous=True)
    text = (tmp_path / "bundle/runs/ours.train.42/note.md").read_text()
    everything = b"".join(p.read_bytes() for p in (tmp_path / "bundle").rglob("*") if p.is_file())
    assert not [w for w in (b"Ada Lovelace", b"Grace Hopper", b"Navy Yard", b"analytical-engine") if w in everything]
    assert verbs.load("package")(verify=tmp_path / "bundle").data["verified"]
    assert "Ada" not in text and "secret-paper" not in text and "example.org" not in text


def test_an_anonymous_package_with_a_name_left_in_it_is_not_written(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A picture cannot be cleaned: a name in its bytes stops the package."""
    (work / "figures").mkdir()
    (work / "figures/main.png").write_bytes(b"\x89PNG\x00 drawn by ada@example.org")
    with pytest.raises(Refused, match="still holds an e-mail"):
        verbs.load("package")(work, output=tmp_path / "bundle", anonymous=True)
    assert not (tmp_path / "bundle").exists()


def test_verification_needs_no_workspace_and_no_network(work: Path, tmp_path: Path) -> None:
    verbs.load("package")(work, output=tmp_path / "bundle")
    shutil.rmtree(work)
    assert verbs.load("package")(verify=tmp_path / "bundle").data["verified"]


def test_the_checklist_has_every_item_of_both_venues_and_leaves_open_what_nothing_answers(
    work: Path, tmp_path: Path
) -> None:
    verbs.load("package")(work, output=tmp_path / "bundle")
    rows = [line.split(" | ") for line in (tmp_path / "bundle/CHECKLIST.md").read_text().splitlines() if "| " in line]
    asked = " ".join(r[0] for r in rows)
    assert set(range(1, 17)) <= {
        int(n) for r in re.findall(r"NeurIPS ([\d, ]+)", asked) for n in r.replace(",", " ").split()
    }
    # the form of ACL Rolling Review: its fields begin with these
    form = "A1 A2 A3 B1 B2 B3 B4 B5 B6 C1 C2 C3 C4 D1 D2 D3 D4 D5 E1"
    assert set(form.split()) == set(re.findall(r"\b[A-E]\d\b", asked)) and all(r[0].strip("| ") for r in rows)
    text = (tmp_path / "bundle/CHECKLIST.md").read_text()
    assert "NeurIPS 2025" in text and "neurips.cc" in text and "aclrollingreview.org" in text
    said = {r[1]: r[2] for r in rows if len(r) > 2}
    assert said["Seeds"].startswith("42") and said["Code and commands"].startswith("(open"), (
        "nothing was generated here"
    )
    assert said["Limitations"].startswith("(open")


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "a/../../evil"])
def test_an_archive_that_leads_out_is_refused(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as z:
        z.writestr("MANIFEST.json", "{}")
        z.writestr(name, "x")
    with pytest.raises(PapertrainError, match="leads out"):
        verbs.load("package")(verify=tmp_path / "x.zip")


@pytest.mark.parametrize("content", [None, b"not a zip", b"PK\x03\x04junk"])
def test_what_is_no_bundle_is_one_clear_error(tmp_path: Path, content: bytes | None) -> None:
    place = tmp_path / "x.zip"
    if content is None:
        place.mkdir()
    else:
        place.write_bytes(content)
    with pytest.raises(PapertrainError):
        verbs.load("package")(verify=place)


def test_the_workspace_itself_is_no_place_for_its_package(work: Path) -> None:
    with pytest.raises(PapertrainError):
        verbs.load("package")(work, output=work)


def test_no_folder_that_is_packed_is_a_place_for_the_package(work: Path) -> None:
    """Twice in a row, `-o work/plans` packed the first bundle into the second."""
    before = sorted(p.relative_to(work) for p in work.rglob("*"))
    for inside in ("plans", "configs/bundle", "runs/x/../bundle"):
        with pytest.raises(PapertrainError, match="cannot lie in"):
            verbs.load("package")(work, output=work / inside)
    assert sorted(p.relative_to(work) for p in work.rglob("*")) == before


def test_a_link_out_of_the_workspace_is_not_packed(work: Path, tmp_path: Path) -> None:
    secret = tmp_path / "outside.txt"
    secret.write_text("outside")
    (work / "runs/ours.train.42/link.txt").symlink_to(secret)
    report = verbs.load("package")(work, output=tmp_path / "bundle")
    assert "runs/ours.train.42/link.txt" not in report.data["files"]


def test_status_gives_each_step_a_state_and_the_next_command(work: Path) -> None:
    report = verbs.load("status")(work)
    states = {s["name"]: s["state"] for s in report.data["steps"]}
    assert states["derive"] == "unconfirmed" and states["configure"] == "missing" and states["package"] == "missing"
    verbs.load("status")(work, confirm="derive")
    assert {s["name"]: s["state"] for s in verbs.load("status")(work).data["steps"]}["derive"] == "done"
    assert verbs.load("next")(work).data["command"].startswith("papertrain generate")
    with pytest.raises(PapertrainError):
        verbs.load("status")(work, confirm="nothing")


def test_changed_data_makes_the_plan_stale(work: Path, made: Path) -> None:
    data = work.parent / "train.jsonl"
    data.write_text((made / "train.jsonl").read_text() * 2)
    steps = {s["name"]: s for s in verbs.load("status")(work).data["steps"]}
    assert steps["derive"]["state"] == "stale" and "train.jsonl" in steps["derive"]["because"]


def test_pointers_are_followed_in_json_and_csv() -> None:
    assert follow(b'{"a": [{"b/c": 3}]}', "/a/0/b~1c") == 3
    assert follow(b"id,acc\n1,0.5\n", "line 2: acc") == 0.5
    assert follow(b"text", "whole file") is None


def test_next_without_a_workspace_names_the_first_command(tmp_path: Path) -> None:
    assert verbs.load("next")(tmp_path).data["command"].startswith("papertrain plan")
    with pytest.raises((PapertrainError, Refused)):
        Workspace.open(tmp_path)


def test_a_command_in_the_run_book_names_no_place_of_the_authors_machine() -> None:
    assert for_a_stranger(["/home/a/env/bin/python3.11", "train.py", "--name", "a b"]) == "python train.py --name 'a b'"
    assert for_a_stranger("/opt/env/bin/python train.py --seed 1") == "python train.py --seed 1"
    assert for_a_stranger(["torchrun", "train.py"]) == "torchrun train.py"
    assert for_a_stranger("a 'broken line") == "a 'broken line"


def test_compressed_pixels_are_no_address_and_an_address_in_them_is(tmp_path: Path) -> None:
    """`8p@Y.of` stood in the deflated pixels of a figure of ours, and the whole package was refused for it."""
    pixels = b"\x89PNG\r\n\x1a\n" + bytes(range(128, 256)) + b"8p@Y.of" + bytes(range(128, 256))
    assert traces({"figures/a.png": pixels}, []) == []
    written = pixels + b" elena.vasquezova@inst.org "
    assert traces({"figures/a.png": written}, []) == [("figures/a.png", "an e-mail address")]
    assert traces({"a.md": b"8p@Y.of"}, []) == [("a.md", "an e-mail address")]
