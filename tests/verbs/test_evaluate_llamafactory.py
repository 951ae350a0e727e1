"""LLaMA-Factory: trained and predicted through `launch`, scored by `evaluate`, compared by `compare`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "configs"))
from environments import HERE, folder
from test_evaluate_harness import finished
from workspaces import make_workspace

from papertrain.core.yaml import load
from papertrain.verbs.compare import compare
from papertrain.verbs.evaluate import evaluate
from papertrain.verbs.generate import generate
from papertrain.verbs.launch import launch
from papertrain.verbs.plan import plan

STUDY = """
[study]
ours = "ours"
baselines = ["base"]
seeds = [{seeds}]
[methods.ours]
[methods.base]
[datasets.toy]
train = "../train.jsonl"
test = "../test.jsonl"
"""
PREDICT = (
    "model_name_or_path: ../model\nadapter_name_or_path: runs/ours.toy.1\noutput_dir: runs/ours.toy.1/predictions\n"
)


def configured(root: Path, *, adapter: bool = True) -> Path:
    """A study of two seeds whose LLaMA-Factory files are there."""
    work = make_workspace(root)
    (work / "study.toml").write_text(STUDY.format(seeds="1, 2").replace("[methods.base]\n", "").replace('"base"', ""))
    here = work / "configs/ours/llamafactory"
    here.mkdir(parents=True)
    (here / "predict.yaml").write_text(PREDICT if adapter else PREDICT.replace("adapter_name_or_path", "stage"))
    (here / "dataset_info.json").write_text(json.dumps({"toy": {}, "toy_test": {}}))
    return work


class TestCommands:
    def test_each_seed_predicts_with_its_own_weights_into_its_own_folder(self, tmp_path: Path) -> None:
        """One predict.yaml names the first run: started as it is, every seed would repeat that one's answers."""
        work = configured(tmp_path)
        rows = evaluate([work], tasks=["toy"]).data["commands"]
        assert [r["run"] for r in rows] == ["ours.toy.1", "ours.toy.2"]
        for r in rows:
            for said in ("adapter_name_or_path=runs/{}", "output_dir=runs/{}/predictions", "eval_dataset=toy_test"):
                assert said.format(r["run"]) in r["words"]
            assert f"seed={r['run'][-1]}" in r["words"] and r["folder"] == str(work)
            assert r["command"].startswith(
                f"(cd {work} && llamafactory-cli train configs/ours/llamafactory/predict.yaml "
            )

    def test_a_model_trained_in_full_is_named_as_the_model(self, tmp_path: Path) -> None:
        (row, _) = evaluate([configured(tmp_path, adapter=False)], tasks=["toy"]).data["commands"]
        assert "model_name_or_path=runs/ours.toy.1" in row["words"]

    def test_files_that_know_no_test_set_are_written_again_first(self, tmp_path: Path) -> None:
        work = configured(tmp_path)
        finished(work, "ours.toy.1")
        (work / "configs/ours/llamafactory/dataset_info.json").write_text(json.dumps({"toy": {}}))
        (row, _) = evaluate([work], tasks=["toy"]).data["commands"]
        assert (
            row["because"]
            == f"papertrain generate {work} writes toy_test into configs/ours/llamafactory/dataset_info.json"
        )

    @pytest.mark.parametrize(
        ("target", "program"), [("script", "evaluate.py"), ("llamafactory", "LLaMA-Factory predict")]
    )
    def test_the_program_that_trained_a_run_predicts_it(self, tmp_path: Path, target: str, program: str) -> None:
        work = configured(tmp_path)
        (work / "configs/ours/script").mkdir()
        (work / "configs/ours/script/evaluate.py").write_text("")
        (work / "runs/ours.toy.1").mkdir(parents=True)
        (work / "runs/ours.toy.1/record.json").write_text(json.dumps({"target": target}))
        assert evaluate([work], tasks=["toy"]).data["commands"][0]["with"] == program


@pytest.mark.slow
@pytest.mark.frameworks
def test_a_study_is_trained_predicted_scored_and_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two full trainings of a tiny model, one that learns and one that hardly moves; every step by the verbs alone."""
    env = folder("llamafactory")
    monkeypatch.chdir(tmp_path)
    for name, value in (("HF_HUB_OFFLINE", "1"), ("CUDA_VISIBLE_DEVICES", ""), ("OMP_NUM_THREADS", "1"), ("TOKENIZERS_PARALLELISM", "false")):  # fmt: skip
        monkeypatch.setenv(name, value)
    subprocess.run([str(env / "bin/python"), str(HERE / "tiny_model.py"), "."], check=True, capture_output=True)
    for name, rate in (("ours", "1e-2"), ("base", "1e-6")):
        sets = [f"learning_rate={rate}", "epochs=6", "template=chatml", "global_batch_size=8", "micro_batch_size=8"]
        plan("./model", data=Path("train.jsonl"), gpu="cpu", method="full", name=name, sets=sets, output=Path("work"))
    Path("work/study.toml").write_text(STUDY.format(seeds="1"))
    generate(Path("work"), target=["llamafactory"])
    for name in ("ours", "base"):
        file = Path(f"work/configs/{name}/llamafactory/predict.yaml")
        file.write_text(file.read_text().replace("max_new_tokens: 512", "max_new_tokens: 24"))
        assert load(file.read_text(), "predict.yaml").value["max_new_tokens"] == 24
    trained = launch(Path("work"), missing=True, target="llamafactory", env=str(env), yes=True)
    assert trained.exit_code() == 0, trained.body
    done = launch(Path("work"), tasks=["toy"], env=str(env), yes=True)
    assert [r["exit_code"] for r in done.data["runs"]] == [0, 0], done.body
    for run in ("ours.toy.1", "base.toy.1"):
        folder_ = Path(f"work/runs/{run}/predictions")
        rows = [json.loads(line) for line in (folder_ / "generated_predictions.jsonl").read_text("utf-8").splitlines()]
        assert len(rows) == 20 and set(rows[0]) == {"prompt", "predict", "label"}
        assert "predict_rouge-l" in json.loads((folder_ / "predict_results.json").read_text())
    scored = evaluate([Path("work")])
    values = {(m["system"], m["metric"]): m for m in scored.data["metrics"]}
    assert values["ours", "token_f1"]["value"] > 0.3 > values["base", "token_f1"]["value"]
    assert values["ours", "rouge1"]["n"] == 20 and values["ours", "bleu"]["signature"]
    published = evaluate([Path("work/runs/ours.toy.1/predictions/predict_results.json")])
    assert {m["metric"] for m in published.data["metrics"]} >= {"bleu-4", "rouge-1", "rouge-2", "rouge-l"}
    compared = compare([Path("work")])
    columns = compared.data["table"]["columns"]
    (test,) = [t for t in compared.data["tests"] if columns[t["column"]]["metric"] == "token_f1"]
    assert test["significant"] and test["n"] == 20 and test["test"] == "paired-permutation"
    assert compared.exit_code() == 0 and "tables/main.tex" in compared.data["files"]
