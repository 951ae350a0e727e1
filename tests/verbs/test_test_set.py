"""A result needs a test set: `plan --test` names it, and every verb says where there is none and what to do about it."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from workspaces import make_workspace

from papertrain.core.errors import PapertrainError, Refused
from papertrain.core.workspace import Workspace
from papertrain.verbs.evaluate import evaluate
from papertrain.verbs.explain import explain
from papertrain.verbs.generate import generate
from papertrain.verbs.launch import launch
from papertrain.verbs.next import next as next_
from papertrain.verbs.plan import plan
from papertrain.verbs.planning.test_set import with_test
from papertrain.verbs.status import status

CONFIG = {"architectures": ["BertModel"], "model_type": "bert", "hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12,
          "intermediate_size": 1536, "vocab_size": 30522, "max_position_embeddings": 512}  # fmt: skip


def rows(file: Path, first: int, n: int, labels: tuple[str, ...] = ("fresh", "rotten")) -> Path:
    lines = [f"{i},a film of the number {i},{labels[i % len(labels)]}" for i in range(first, first + n)]
    file.write_text("\n".join(["id,text,label", *lines]) + "\n")
    return file


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("model").mkdir()
    Path("model/config.json").write_text(json.dumps(CONFIG))
    rows(Path("reviews.csv"), 0, 117)
    plan("model", data=Path("reviews.csv"), gpu="cpu", output=Path("work"))
    generate(Path("work"))
    return Path("work")


def finished(work: Path, run: str = "ours.reviews.42", **record: Any) -> Path:
    folder = work / "runs" / run
    folder.mkdir(parents=True)
    known = {
        "run": run,
        "target": "script",
        "exit_code": 0,
        "plan_digest": Workspace(work).plan_digest("ours"),
        "words": [sys.executable, "train.py"],
    }
    (folder / "record.json").write_text(json.dumps({**known, **record}))  # fmt: skip
    return folder


def test_a_study_without_a_test_set_says_so_before_and_after_training(work: Path) -> None:
    assert any("no test set" in w and "--test FILE" in w for w in launch(work, dry_run=True).warnings)
    assert "no test set for reviews" in status(work).body
    finished(work)
    for answer in (evaluate([work]), next_(work), status(work)):
        assert "names no test set" in answer.explanation and "--test FILE" in answer.explanation
        assert answer.action == "papertrain explain test-set --plan work"
    with pytest.raises(Refused) as refused:
        launch(work, run="ours.reviews.42", resume=True, yes=True)
    assert refused.value.command == "papertrain explain test-set --plan work"
    told = explain("test-set", plan=work)
    assert "papertrain plan work --test FILE" in told.body and "[datasets.reviews]" in told.body


def test_the_file_beside_the_training_data_is_proposed(work: Path) -> None:
    rows(Path("reviews_test.csv"), 500, 20)
    finished(work)
    assert next_(work).action == "papertrain plan work --test reviews_test.csv"


def test_the_test_file_is_recorded_and_the_runs_predict_it(work: Path) -> None:
    rows(Path("held.csv"), 500, 20)
    before = (work / "plans/ours/plan.json").read_bytes()
    told = plan("work", test=Path("held.csv"))
    assert "20 examples of held.csv" in told.body
    assert (work / "plans/ours/plan.json").read_bytes() == before
    assert Workspace(work).study.datasets[0].test == "../held.csv"
    assert [r.id for r in Workspace(work).grid()] == ["ours.reviews.42"]
    assert next_(work).action == "papertrain generate work"  # its files name the old data
    argv = launch(work, dry_run=True).data["runs"][0]["argv"]
    assert argv[argv.index("--test_file") + 1] == "../held.csv"
    generate(work)
    assert '"--test_file", "../held.csv"' in (work / "configs/ours/script/train.py").read_text()
    assert not any("test set" in w for w in launch(work, dry_run=True).warnings)


def test_a_finished_run_predicts_a_test_file_that_came_later(work: Path) -> None:
    rows(Path("held.csv"), 500, 20)
    finished(work)
    plan("work", test=Path("held.csv"))
    generate(work)
    for answer in (evaluate([work]), next_(work)):
        assert answer.action is not None
        assert answer.action == f"(cd work && {shlex.quote(sys.executable)} configs/ours/script/evaluate.py runs/ours.reviews.42 ../held.csv)"  # fmt: skip
    (work / "runs/ours.reviews.42/predictions.csv").write_text("id,label,prediction\n0,fresh,fresh\n1,rotten,fresh\n")
    assert evaluate([work]).data["metrics"]


def test_a_new_plan_with_a_test_file_needs_one_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model").mkdir()
    Path("model/config.json").write_text(json.dumps(CONFIG))
    asked = {"data": rows(Path("reviews.csv"), 0, 117), "test": rows(Path("held.csv"), 500, 20), "gpu": "cpu"}
    dry = plan("model", **asked)  # type: ignore[arg-type]
    assert "--test held.csv" in (dry.action or "")
    plan("model", **asked, output=Path("work"))  # type: ignore[arg-type]
    assert Workspace(Path("work")).study.datasets[0].test == "../held.csv"
    plan("model", data=Path("reviews.csv"), gpu="cpu", name="other", output=Path("work"))
    assert Workspace(Path("work")).methods() == [m.name for m in Workspace(Path("work")).study.methods]


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda: rows(Path("same.csv"), 0, 117), "training file"),
        (
            lambda: Path("bare.csv").write_text("id,text\n1,a film\n") and Path("bare.csv"),
            "needs the columns text, label",
        ),
        (lambda: Path("gone.csv"), "no such"),
    ],
)
def test_a_test_file_that_can_give_no_score_is_refused(work: Path, made: Any, says: str) -> None:
    with pytest.raises(PapertrainError, match=says):
        plan("work", test=made())
    assert not (work / "study.toml").exists()


def test_labels_that_training_never_saw_are_told(work: Path) -> None:
    told = plan("work", test=rows(Path("held.csv"), 500, 20, ("fresh", "stale")))
    assert any("stale" in w for w in told.warnings)


def test_a_study_that_a_person_wrote_keeps_its_words(work: Path) -> None:
    own = '# mine\n[study]\nseeds = [1, 2]\n\n[methods.ours]\n\n[datasets.reviews]  # the data\nlabel = "Reviews"\n\n[sweeps]\n'
    (work / "study.toml").write_text(own)
    rows(Path("held.csv"), 500, 20)
    with pytest.raises(Refused) as refused:
        plan("work", test=Path("held.csv"))
    assert 'test = "../held.csv"' in refused.value.ask[0]
    plan("work", test=Path("held.csv"), overwrite=True)
    assert (work / "study.toml").read_text() == own.replace(
        'label = "Reviews"\n', 'label = "Reviews"\ntest = "../held.csv"\n'
    )
    assert Workspace(work).study.datasets[0].train == "../reviews.csv"


def test_a_table_is_changed_where_it_stands() -> None:
    text = '[datasets.a]\ntest = "x"\n[datasets.b]\ntrain = "t"\n'
    assert with_test(text, "a", "y") == text.replace('"x"', '"y"')
    assert with_test(text, "b", "y") == text + 'test = "y"\n'
    assert with_test("", "a", "y") == '[datasets.a]\ntest = "y"\n'


def test_a_study_may_name_only_what_its_plans_do_not(tmp_path: Path) -> None:
    work = make_workspace(tmp_path)
    (work / "study.toml").write_text("[study]\nseeds = [1, 2]\n")
    assert [r.id for r in Workspace(work).grid()] == ["ours.train.1", "ours.train.2"]


def test_the_study_of_the_how_to_page_is_one(work: Path) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs/howto/study.md").read_text("utf-8")
    (work / "study.toml").write_text(page.partition("```toml\n")[2].partition("```")[0])
    space = Workspace(work)
    cells = [r.id for r in space.grid()]
    assert cells == ["ours.reviews.1", "ours.reviews.2", "ours.reviews.3", "tfidf.reviews.1"]
    assert space.study.datasets[0].test and space.study.venue == "acl" and space.study.mode == "standard"
