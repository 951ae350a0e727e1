"""Governance texts are found, recorded or named as missing; a paper's own file is read, and written only by its owner's leave."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "security"))
import scene

from papertrain import verbs
from papertrain.core.errors import PapertrainError, Refused
from papertrain.core.evidence import read_evidence
from papertrain.core.gate import decide_mode
from papertrain.core.governance import NAMES, PLACE, find_governance
from papertrain.core.project import read_project
from papertrain.mcp import call

PAPER = "# our paper\ntitle: A study   # working title\nproject:\n  venue: ACL\nstranger: 3\nseeds:   # as in the plan\n  - 5\nauthors:\n  - name: Ada Lovelace\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("governed")
    scene.build(root)
    return root


@pytest.fixture
def work(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    import shutil

    shutil.copytree(made, tmp_path / "paper")
    (tmp_path / "paper/.git").mkdir()
    monkeypatch.chdir(tmp_path / "paper")
    monkeypatch.setenv("PAPERCRAFT_HOME", str(tmp_path / "none"))
    return tmp_path / "paper/work"


def governance(repository: Path, **texts: str) -> None:
    (repository / PLACE).mkdir(parents=True)
    for name in NAMES:
        (repository / PLACE / name).write_text(texts.get(name.split(".")[0].replace("-", "_"), f"# {name}\n"))


def test_missing_texts_are_unavailable_in_the_answer_of_every_verb_that_writes(work: Path) -> None:
    for name, options in {
        "plan": {"target": str(work)},
        "generate": {},
        "evaluate": {},
        "compare": {},
        "status": {},
        "report": {},
    }.items():
        arguments = options or {"work": work}
        report = verbs.load(name)([work]) if name in ("evaluate", "compare") else verbs.load(name)(**arguments)
        missing = [u for u in report.unavailable if u.startswith("governance/")]
        assert len(missing) == 3 and "built-in safety rules apply" in missing[0], name


def test_found_texts_are_recorded_in_the_evidence_with_their_digest_once(work: Path) -> None:
    governance(work.parent)
    found, missing = find_governance()
    assert len(found) == 3 and not missing
    for _ in range(2):
        report = verbs.load("evaluate")([work])
        assert not any(u.startswith("governance/") for u in report.unavailable)
    entries = [e for e in read_evidence(work) if "governance text" in e.claim]
    assert sorted(e.sha256 for e in entries) == sorted(t.sha256 for t in found)
    assert all((work / e.file).resolve().is_file() for e in entries)
    (work.parent / PLACE / NAMES[0]).write_text("another\n")
    verbs.load("evaluate")([work])
    assert len([e for e in read_evidence(work) if "governance text" in e.claim]) == 4, (
        "a text that changed is another text"
    )


def test_the_users_folder_is_looked_at_after_the_repository(work: Path, tmp_path: Path) -> None:
    governance(tmp_path / "none")
    assert [t.path for t in find_governance()[0]] == [str(tmp_path / "none" / PLACE / n) for n in NAMES]


def test_a_stricter_text_holds_and_none_loosens(work: Path) -> None:
    assert decide_mode(None, work) == "quick"
    governance(
        work.parent,
        task_modes="---\nminimum-mode: standard\n---\n# Modes\n",
        privacy_and_evidence="---\nminimum-mode: quick\nallow-secrets: true\nminimum-mode: exploratory\n---\n",
    )
    assert decide_mode(None, work) == "standard" and decide_mode("quick", work) == "standard"
    assert decide_mode("exploratory", None) == "exploratory", "a what-if spends nothing"
    with pytest.raises(Refused):
        verbs.load("launch")(work, run="ours.toy.2", overwrite=True, yes=True, mode="quick")


def test_a_text_that_says_quick_does_not_loosen_a_standard_study(work: Path) -> None:
    governance(work.parent, task_modes="---\nminimum-mode: quick\nmode: exploratory\n---\n")
    (work / "study.toml").write_text(
        (work / "study.toml").read_text().replace("[study]\n", '[study]\nmode = "standard"\n')
    )
    assert decide_mode(None, work) == "standard"


def test_every_key_of_the_papers_file_is_listed_with_what_was_understood(work: Path) -> None:
    (work.parent / "paper-project.yaml").write_text(PAPER)
    project = read_project(work)
    assert project is not None and {k.key: k.as_ for k in project.keys} == {
        "title": "title",
        "project.venue": "venue",
        "stranger": "",
        "seeds": "seeds",
        "authors": "authors",
    }
    assert project.names("authors") == ["Ada Lovelace"] and project.get("seeds") == [5]
    listed = verbs.load("status")(work, project=True).data["project"]["keys"]
    assert [k["line"] for k in listed] == [2, 4, 5, 6, 8]


def test_a_change_is_a_diff_that_keeps_comments_and_is_written_only_when_authorised(work: Path) -> None:
    file = work.parent / "paper-project.yaml"
    file.write_text(PAPER)
    with pytest.raises(Refused, match="look at the change first"):
        verbs.load("status")(work, authorize=["paper-project.yaml"])
    shown = verbs.load("status")(work, project=True)
    assert file.read_text() == PAPER and shown.data["patch"].startswith("--- a/paper-project.yaml")
    removed = [line for line in shown.data["patch"].splitlines() if line.startswith("-") and not line.startswith("---")]
    assert not removed, "nothing that the file says is changed"
    done = verbs.load("status")(work, authorize=["paper-project.yaml"])
    assert done.data["written"] and file.read_text().startswith(PAPER) and "baselines" in file.read_text()
    assert not (work.parent / ".papertrain").exists(), "nothing else appears beside it"


def test_a_file_that_changed_after_the_diff_was_shown_is_not_written(work: Path) -> None:
    file = work.parent / "paper-project.yaml"
    file.write_text(PAPER)
    verbs.load("status")(work, project=True)
    file.write_text(PAPER + "venue: EMNLP\n")
    with pytest.raises(Refused, match="changed"):
        verbs.load("status")(work, authorize=["paper-project.yaml"])
    assert file.read_text() == PAPER + "venue: EMNLP\n"


@pytest.mark.parametrize("name", ["README.md", "../paper-project.yaml", "/etc/passwd", ""])
def test_nothing_but_that_file_can_be_authorised(work: Path, name: str) -> None:
    (work.parent / "paper-project.yaml").write_text(PAPER)
    with pytest.raises(Refused, match="never be authorised"):
        verbs.load("status")(work, authorize=[name])


@pytest.mark.parametrize("text", ["- a\n", "a: [", "seeds: &a [*a]\n", "\x00\x01"])
def test_a_papers_file_that_cannot_be_read_is_one_clear_error(work: Path, text: str) -> None:
    (work.parent / "paper-project.yaml").write_text(text)
    with pytest.raises(PapertrainError) as caught:
        verbs.load("status")(work, project=True)
    assert "paper-project.yaml" in caught.value.one_line()


def test_no_tool_and_no_page_writes_anything_whatever_it_is_asked(work: Path) -> None:
    """The tool server and the page only read: asked about a workspace, the verbs would otherwise write into it."""
    (work.parent / "paper-project.yaml").write_text(PAPER)
    before = {p: p.read_bytes() for p in work.parent.rglob("*") if p.is_file()}
    w, runs = str(work), str(work / "runs/ours.toy.1")
    asked = [("plan", {"target": w, "set": ["weight_decay=0.02"]}), ("evaluate", {"paths": [w]}), ("compare", {"paths": [w]}), ("diagnose", {"paths": [runs]}), ("diagnose", {"paths": [str(work.parent / "crash.log")]}), ("status", {"work": w}),
             ("status", {"work": w, "project": True}), ("watch", {"paths": [w]}), ("next", {"work": w}), ("check", {"files": [w]}), ("explain", {"id": "learning_rate", "plan": w})]  # fmt: skip
    answered = 0
    for name, given in asked:
        document, failed = call(name, dict(given), [work.parent])
        answered += not failed
        assert not failed or document["data"]["error"]["code"] != "fault", (name, document["result"])
    pytest.importorskip("starlette")
    from papertrain.web.forms import answer

    for name, given in asked:
        answer(
            name,
            {
                k: v if isinstance(v, str) else "\n".join(map(str, v)) if isinstance(v, list) else "true"
                for k, v in given.items()
            },
            [work.parent],
        )
    assert answered >= 8
    assert {p: p.read_bytes() for p in work.parent.rglob("*") if p.is_file()} == before


def test_a_baseline_of_findings_cannot_be_written_through_a_tool(work: Path) -> None:
    assert call("check", {"files": [str(work)], "write_baseline": str(work.parent / "x.json")}, [work.parent])[1]
    assert not (work.parent / "x.json").exists()


def test_an_estimate_never_enters_a_results_table(work: Path, tmp_path: Path) -> None:
    """What papertrain estimated is a file too: given as a result it gives no cell."""
    estimate = tmp_path / "estimate.json"
    plan = json.loads((work / "plans/ours/plan.json").read_text())
    estimate.write_text(json.dumps({"memory": plan["memory"], "duration": plan["duration"]}))
    for file in (estimate, work / "plans/ours/plan.json"):
        try:
            report = verbs.load("compare")([file])
        except PapertrainError:
            continue
        assert all(c["value"] is None for row in report.data["table"]["cells"] for c in row), file


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        (b"# ours\r\ntitle: A study\r\n", b"title: A study\r\nvenue:"), (b"\xef\xbb\xbftitle: x\n", b"\xef\xbb\xbftitle: x\nvenue:"), ("title: é\n".encode("utf-16"), "title: é\nvenue:".encode("utf-16")),
        (b"title: A study", b"title: A study\nvenue:"), (b"title: x\nvenue:\nseeds:\n", b"title: x\nvenue: plain\nseeds: [1, 2]\n"), (b"---\ntitle: x\n...\n", b"---\ntitle: x\nvenue:"),
        (b"x: &a [1, 2]\nseeds: *a\n", b"x: &a [1, 2]\nseeds: *a\nvenue:"), (b'title: x\nwandb_key: "wandb_v1_aB3dE5gH7jK9mN1pQ3sT5v"\n', b'wandb_key: "wandb_v1_aB3dE5gH7jK9mN1pQ3sT5v"\nvenue:'),
    ],
    ids=["windows", "mark", "utf-16", "no line end", "empty values", "document end", "anchor", "secret in it"],
)  # fmt: skip
def test_an_authorised_change_keeps_coding_line_ends_and_every_other_byte(
    made: Path, tmp_path: Path, raw: bytes, kept: bytes
) -> None:
    shutil.copytree(made, tmp_path / "p")
    file = tmp_path / "p/paper-project.yaml"
    file.write_bytes(raw)
    verbs.load("status")(tmp_path / "p/work", project=True)
    assert file.read_bytes() == raw
    assert verbs.load("status")(tmp_path / "p/work", authorize=["paper-project.yaml"]).data["written"]
    assert kept in file.read_bytes() and file.read_bytes()[:2] == raw[:2]
    assert read_project(tmp_path / "p/work").get("venue") == "plain"  # type: ignore[union-attr]


def test_a_file_in_another_coding_is_not_damaged_but_named(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made, tmp_path / "p")
    file = tmp_path / "p/paper-project.yaml"
    file.write_bytes("title: Étude\n".encode("latin-1"))
    verbs.load("status")(tmp_path / "p/work", project=True)
    with pytest.raises(PapertrainError, match="not UTF-8"):
        verbs.load("status")(tmp_path / "p/work", authorize=["paper-project.yaml"])
    assert file.read_bytes() == "title: Étude\n".encode("latin-1")


def test_a_linked_file_is_written_where_it_lies_and_never_outside_of_the_repository(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made, tmp_path / "p")
    link, real = tmp_path / "p/paper-project.yaml", tmp_path / "p/meta.yaml"
    real.write_text("title: x\n")
    link.symlink_to("meta.yaml")
    verbs.load("status")(tmp_path / "p/work", project=True)
    assert verbs.load("status")(tmp_path / "p/work", authorize=["paper-project.yaml"]).data["written"]
    assert link.is_symlink() and "venue: plain" in real.read_text()
    link.unlink()
    outside = tmp_path / "outside.yaml"
    outside.write_text("title: x\n")
    link.symlink_to(outside)
    verbs.load("status")(tmp_path / "p/work", project=True)
    with pytest.raises(Refused, match="link out of"):
        verbs.load("status")(tmp_path / "p/work", authorize=["paper-project.yaml"])
    assert outside.read_text() == "title: x\n"
