"""Short free text of a fine-tuned model is scored as text, also where a test set is small; what was taken for what is said."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from workspaces import make_workspace

from papertrain.core.errors import PapertrainError
from papertrain.verbs.compare import compare
from papertrain.verbs.evaluate import evaluate
from papertrain.verbs.package import package

CITIES = ["Paris", "Rome", "Oslo", "Bern", "Riga", "Wien", "Prag", "Bonn", "Kiel", "Jena", "Gent", "Lund"]


def answers(path: Path, wrong: int = 3, gold: list[Any] | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    gold = gold or CITIES
    rows = [{"id": i, "label": g, "predict": g if i >= wrong else "the city"} for i, g in enumerate(gold)]
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return path


def study(root: Path, task: str = "sft", metrics: str = "") -> Path:
    work = make_workspace(root, command="x", task=task)
    if metrics:
        (work / "study.toml").write_text((work / "study.toml").read_text() + f"metrics = {metrics}\n")
    for run, wrong in (("ours.toy.1", 2), ("ours.toy.2", 3), ("base.toy.1", 6)):
        answers(work / "runs" / run / "predictions.jsonl", wrong)
    return work


def scored(report: Any) -> set[str]:
    return {m["metric"] for m in report.data["metrics"]}


def heads(report: Any) -> list[str]:
    return [c["metric"] for c in report.data["table"]["columns"]]


@pytest.mark.parametrize(("task", "shown"), [("sft", ["em", "token_f1"]), ("dpo", ["em", "token_f1"]), ("classification", ["accuracy", "macro_f1"])])  # fmt: skip
def test_the_task_of_the_plan_decides_in_evaluate_and_in_compare(tmp_path: Path, task: str, shown: list[str]) -> None:
    work = study(tmp_path, task)
    r = evaluate([work])
    assert set(shown) <= scored(r) and ("accuracy" in scored(r)) is (task == "classification")
    assert heads(compare([work])) == shown


def test_the_package_computes_them_anew(tmp_path: Path) -> None:
    for task in ("sft", "classification"):
        (tmp_path / task).mkdir()
        work = study(tmp_path / task, task)
        r = evaluate([work])
        done = package(work, output=tmp_path / f"{task}.zip")
        assert done.verb == "package"
        held = package(verify=tmp_path / f"{task}.zip").data
        assert held["verified"] and held["reread"] == held["numbers"] == len(r.data["metrics"])


def test_classes_can_be_asked_for_all_the_same(tmp_path: Path) -> None:
    work = study(tmp_path)
    said = next(i for i in evaluate([work]).data["issues"] if i["code"] == "read-as")
    assert "read as text, as the workspace says" in said["says"] and said["level"] == "note"
    assert scored(evaluate([work], metrics=["accuracy,macro_f1"])) == {"accuracy", "macro_f1"}
    assert heads(compare([work], metrics=["accuracy"])) == ["accuracy"]


def test_the_metrics_of_a_study_say_it_too(tmp_path: Path) -> None:
    work = study(tmp_path, metrics='["accuracy", "macro_f1"]')
    assert {"accuracy", "macro_f1"} <= scored(evaluate([work])) and "em" not in scored(evaluate([work]))
    assert heads(compare([work])) == ["accuracy", "macro_f1"]


def test_without_a_plan_the_assumption_and_the_other_way_are_said(tmp_path: Path) -> None:
    r = evaluate([answers(tmp_path / "p.jsonl")])
    assert "read as classes: 12 different answers in 12 rows; --metrics em,token_f1 reads them as text" in r.body
    assert "accuracy" in scored(r)
    other = compare(system=[f"a={answers(tmp_path / 'a.jsonl')}", f"b={answers(tmp_path / 'b.jsonl', 5)}"])
    assert "read as classes: 12 different answers in 12 rows" in other.body


@pytest.mark.parametrize("asked", ["em,token_f1", "exact_match,f1", "Exact_Match,F1"])
def test_the_usual_names_choose_text(tmp_path: Path, asked: str) -> None:
    r = evaluate([answers(tmp_path / "p.jsonl")], metrics=[asked])
    assert scored(r) == {"em", "token_f1"} and "read as" not in r.body


def test_text_can_be_read_as_classes(tmp_path: Path) -> None:
    p = answers(tmp_path / "p.jsonl", gold=[f"word {i}" for i in range(40)])
    r = evaluate([p])
    assert "em" in scored(r) and "--metrics accuracy,macro_f1 reads them as classes" in r.body
    assert scored(evaluate([p], metrics=["accuracy,macro_f1"])) == {"accuracy", "macro_f1"}


def test_answers_that_are_whole_numbers_can_be_read_as_text(tmp_path: Path) -> None:
    p = tmp_path / "p.jsonl"
    p.write_text(
        "".join(json.dumps({"id": i, "label": i * 3, "predict": i * 3 + (i % 4 == 0)}) + "\n" for i in range(80))
    )
    assert "--metrics em,token_f1 reads them as text" in evaluate([p]).body
    (em,) = evaluate([p], metrics=["em"]).data["metrics"]
    assert em["value"] == 0.75


def test_classes_that_many_rows_share_are_no_question_for_compare(tmp_path: Path) -> None:
    gold = ["yes", "no"] * 30
    r = compare(system=[f"a={answers(tmp_path / 'a.jsonl', 2, gold)}", f"b={answers(tmp_path / 'b.jsonl', 5, gold)}"])
    assert "read as" not in r.body


def test_a_metric_of_lists_is_still_refused_for_text(tmp_path: Path) -> None:
    with pytest.raises(PapertrainError, match="no metric 'accuracy'"):
        evaluate([answers(tmp_path / "p.jsonl", gold=[["a", "b"]] * 12)], metrics=["accuracy"])
