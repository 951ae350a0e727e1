"""`evaluate`: raw predictions to scores, and a workspace to metrics.json with evidence."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from papertrain.core.errors import PapertrainError
from papertrain.verbs.evaluate import evaluate


def write(path: Path, right: int, wrong: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as out:
        w = csv.writer(out)
        w.writerow(["id", "label", "prediction"])
        for i in range(right + wrong):
            gold = "pos" if i % 3 else "neg"
            w.writerow([i, gold, gold if i < right else "other"])
    return path


def test_the_contract_of_one_file(tmp_path: Path) -> None:
    r = evaluate([write(tmp_path / "p.csv", 80, 20)])
    first = r.data["metrics"][0]
    assert (first["metric"], first["value"], first["n"]) == ("accuracy", 0.8, 100)
    assert first["ci"]["method"] == "wilson" and first["ci"]["level"] == 0.95 and round(first["ci"]["low"], 4) == 0.7112
    assert (
        first["evidence"].startswith("E")
        and "library:scikit-learn" in first["signature"]
        and "share of items" in first["definition"]
    )
    proof = next(e for e in r.data["evidence"] if e["id"] == first["evidence"])
    assert proof["value"] == 0.8 and len(proof["sha256"]) == 64 and proof["status"] == "verified"
    assert r.data["confusion"][0]["classes"] == ["neg", "other", "pos"]


def test_the_same_seed_gives_the_same_answer_and_another_another(tmp_path: Path) -> None:
    p = write(tmp_path / "p.csv", 70, 30)
    a, b, c = evaluate([p]), evaluate([p]), evaluate([p], seed=8)
    assert a.data == b.data and a.data["metrics"] != c.data["metrics"]


def test_chosen_metrics_and_own_names(tmp_path: Path) -> None:
    p = tmp_path / "p.jsonl"
    p.write_text(
        "".join(
            json.dumps({"q": i, "gold": f"the answer {i}", "said": f"answer {i}" if i < 6 else "no"}) + "\n"
            for i in range(10)
        )
    )
    r = evaluate([p], columns=["id=q,label=gold,prediction=said"], metrics=["em,rougeL"])
    assert [(m["metric"], m["value"] if m["metric"] == "em" else None) for m in r.data["metrics"]] == [
        ("em", 0.6),
        ("rougel", None),
    ]
    with pytest.raises(PapertrainError) as error:
        evaluate([p], columns=["id=q,label=gold,prediction=said"], metrics=["emm"])
    assert error.value.nearest == "em"


def study(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    (work / "study.toml").write_text(
        '[study]\nours = "ours"\nbaselines = ["base"]\nseeds = [1, 2]\n[methods.base]\nkind = "command"\ncommand = "x"\nseeds = [1]\n[methods.ours]\n[datasets.reviews]\ntest = "t.csv"\n'
    )
    write(work / "runs/ours.reviews.1/predictions.csv", 90, 10)
    write(work / "runs/base.reviews.1/predictions.csv", 70, 30)
    return work


def test_a_workspace_gets_metrics_and_evidence_per_run(tmp_path: Path) -> None:
    work = study(tmp_path)
    r = evaluate([work])
    doc = json.loads((work / "results/ours.reviews.1/metrics.json").read_text())
    accuracy = next(m for m in doc["metrics"] if m["metric"] == "accuracy")
    known = {e["id"]: e for e in map(json.loads, (work / "evidence.jsonl").read_text().splitlines())}
    assert (
        accuracy["value"] == 0.9
        and known[accuracy["evidence"]]["file"] == "runs/ours.reviews.1/predictions.csv"
        and known[accuracy["evidence"]]["seed"] == 1
    )
    assert r.data["missing"] == [
        {"run": "ours.reviews.2", "because": "not run yet", "command": f"papertrain launch {work} --run ours.reviews.2"}
    ]
    lines = (work / "evidence.jsonl").read_text()
    evaluate([work])
    assert (work / "evidence.jsonl").read_text() == lines


def test_compare_uses_the_ids_that_evaluate_gave(tmp_path: Path) -> None:
    from papertrain.verbs.compare import compare

    work = study(tmp_path)
    evaluate([work])
    before = {json.loads(line)["id"] for line in (work / "evidence.jsonl").read_text().splitlines()}
    r = compare([work])
    assert {c["evidence"] for row in r.data["table"]["cells"] for c in row if c["value"] is not None} <= before


def test_dry_run_and_exploratory_write_nothing(tmp_path: Path) -> None:
    work = study(tmp_path)
    evaluate([work], dry_run=True)
    evaluate([work], mode="exploratory")
    assert not (work / "results").exists() and not (work / "evidence.jsonl").exists()


def test_commands_for_tasks_have_the_same_settings_and_start_nothing(tmp_path: Path) -> None:
    work = study(tmp_path)
    r = evaluate([work], tasks=["gsm8k", "reviews"], shots=5)
    lm = [c["command"] for c in r.data["commands"] if c["with"] == "lm-evaluation-harness"]
    assert len(lm) == 2 and all(
        "--tasks gsm8k --num_fewshot 5" in c and "--log_samples" in c and "--seed 7" in c for c in lm
    )
    own = [c["command"] for c in r.data["commands"] if c["with"] == "evaluate.py"]
    assert own[0].endswith(f"{work}/runs/ours.reviews.1 t.csv")
    assert "needs the run first" in r.data["commands"][0]["because"]


def test_a_damaged_prediction_file_is_an_issue_and_its_cell_stays_empty(tmp_path: Path) -> None:
    work = study(tmp_path)
    (work / "runs/ours.reviews.1/predictions.csv").write_bytes(b"\x00\x01\x02" * 100)
    r = evaluate([work])
    assert any("ours.reviews.1" in w for w in r.warnings) and {m["system"] for m in r.data["metrics"]} == {"base"}


@pytest.mark.parametrize(
    "bad",
    [
        {"level": 0.0},
        {"level": 1.5},
        {"resamples": 1},
        {"columns": ["label"]},
        {"columns": ["nope=x"]},
        {"tasks": ["gsm8k"]},
    ],
)
def test_bad_options_are_one_line(tmp_path: Path, bad: dict[str, object]) -> None:
    with pytest.raises(PapertrainError):
        evaluate([write(tmp_path / "p.csv", 8, 2)], **bad)  # type: ignore[arg-type]


def test_nothing_and_nowhere(tmp_path: Path) -> None:
    for targets in ([], [tmp_path / "nowhere.csv"], [tmp_path]):
        with pytest.raises(PapertrainError):
            evaluate(targets)
