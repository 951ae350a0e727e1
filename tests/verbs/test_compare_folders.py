"""`compare` on folders that frameworks write, and across processes."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from scored import A, B, cell, comparison, predictions

from papertrain.core.errors import PapertrainError
from papertrain.verbs.compare import compare
from papertrain.verbs.evaluate import evaluate


class TestFoldersOfFrameworks:
    def test_files_of_one_training_that_repeat_each_other_count_once(self, tmp_path: Path) -> None:
        for m, acc in (("ours", 0.9), ("base", 0.8)):
            for s in (1, 2, 3):
                folder = tmp_path / f"r/{m}/seed_{s}"
                folder.mkdir(parents=True)
                result = {"eval_accuracy": acc + s / 100, "eval_loss": 0.3, "eval_samples": 500}
                (folder / "eval_results.json").write_text(json.dumps(result))
                (folder / "all_results.json").write_text(
                    json.dumps({**result, "train_loss": 0.1, "predict_accuracy": acc})
                )
                (folder / "predict_results.json").write_text(json.dumps({"predict_accuracy": acc - s / 100}))
                (folder / "trainer_state.json").write_text(
                    json.dumps({"log_history": [{"step": 1, "eval_accuracy": 0.1}]})
                )
        r = compare([tmp_path / "r"], ours="ours", baseline="base")
        c = cell(r, "ours")
        # the test split (predict) is reported, not the validation split, and not their mean
        assert c["n_seeds"] == 3 and c["value"] == pytest.approx(0.88) and set(c["seeds"]) == {"1", "2", "3"}
        assert any(i.get("code") == "validation-left-out" for i in r.data["issues"])
        assert not any(i.get("code") in ("repeats", "duplicate-value") for i in r.data["issues"])

    def test_harness_samples_are_paired_by_question_and_filter(self, tmp_path: Path) -> None:
        for m, right in (("a", A), ("b", B)):
            folder = tmp_path / m
            folder.mkdir()
            acc = sum(right) / len(right)
            (folder / "results_2026-01-01T00-00-00.json").write_text(
                json.dumps(
                    {
                        "results": {"gsm8k": {"exact_match,strict-match": acc, "exact_match,flexible-extract": 1.0}},
                        "n-samples": {"gsm8k": {"effective": 220}},
                        "config": {},
                    }
                )
            )
            rows = [
                {
                    "doc_id": i,
                    "doc_hash": f"h{i}",
                    "target": "1",
                    "target_hash": f"t{i}",
                    "filter": f,
                    "metrics": ["exact_match"],
                    "resps": [],
                    "exact_match": float(ok or f != "strict-match"),
                }
                for i, ok in enumerate(right)
                for f in ("strict-match", "flexible-extract")
            ]
            (folder / "samples_gsm8k_2026-01-01T00-00-00.jsonl").write_text("".join(json.dumps(x) + "\n" for x in rows))
        r = compare(system=[f"a={tmp_path / 'a'}", f"b={tmp_path / 'b'}"], ours="a", baseline="b")
        t = comparison(r, "exact_match,strict-match")
        assert t["test"] == "mcnemar-exact" and t["p"] == pytest.approx(0.0079, abs=5e-5)
        assert cell(r, "a", "exact_match,strict-match", "gsm8k")["status"] == "verified"
        assert not any(i.get("code") == "disagrees" for i in r.data["issues"])

    def test_a_published_score_that_its_own_outputs_contradict_is_said(self, tmp_path: Path) -> None:
        predictions(tmp_path / "a/predictions.csv", A)
        (tmp_path / "a/eval_results.json").write_text('{"accuracy": 0.7}')
        r = compare(system=[f"a={tmp_path / 'a'}"])
        assert any(
            i.get("code") == "disagrees" and "the file says 0.7, its own outputs give 0.636364" in i["says"]
            for i in r.data["issues"]
        )


@pytest.mark.slow
def test_another_process_writes_the_same_bytes(tmp_path: Path) -> None:
    import os
    import subprocess
    import sys

    x, y = predictions(tmp_path / "a.csv", A), predictions(tmp_path / "b.csv", B)
    made = []
    for salt in ("1", "2"):
        out = tmp_path / salt
        command = ["compare", "--system", f"ours={x}", "--system", f"b={y}", "--ours", "ours", "--all", "-o", str(out)]
        subprocess.run(
            [sys.executable, "-m", "papertrain", *command],
            check=True,
            capture_output=True,
            env={**os.environ, "PYTHONHASHSEED": salt},
        )
        made.append({str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*") if p.is_file()})
    assert made[0] == made[1] and "figures/confusion.pdf" in made[0]


def test_names_with_half_characters_and_line_breaks_are_written_all_the_same(tmp_path: Path) -> None:
    f = tmp_path / "t.json"
    f.write_text(
        '[{"method": "a\\ud800\\nb", "accuracy": 0.9}, {"method": "=cmd()", "accuracy": 0.8}, {"method": "\\u202etac", "accuracy": 0.7}]'
    )
    r = compare([f], output=tmp_path / "o")
    assert r.data["table"]["rows"][0] == "a\\ud800 b" and (tmp_path / "o/tables/main.tex").exists()
    assert "'=cmd()" in (tmp_path / "o/tables/main.csv").read_text()


@pytest.mark.parametrize("kind", ["pipe", "folder", "nothing", "zeros", "broken UTF-16"])
def test_what_is_no_text_file_is_one_line_and_no_wait(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "preds.csv"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind != "nothing":
        path.write_bytes(b"\0" * 100 if kind == "zeros" else b"\xff\xfea")
    for verb in (compare, evaluate):
        with pytest.raises(PapertrainError) as error:
            verb([path])
        assert "\n" not in error.value.one_line()
