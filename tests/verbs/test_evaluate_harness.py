"""One small task of lm-evaluation-harness, really run on two local models through `launch`, and compared item by item."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from msgspec import structs
from workspaces import make_plan, make_workspace

from papertrain.core.errors import PapertrainError
from papertrain.core.training import write_plan
from papertrain.verbs.compare import compare
from papertrain.verbs.evaluate import evaluate
from papertrain.verbs.launch import launch

ENV = Path(__file__).resolve().parents[2] / ".envs/lmeval"
MODEL = r"""
import sys, torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
t = Tokenizer(models.BPE(unk_token="<unk>")); t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
alphabet = pre_tokenizers.ByteLevel.alphabet()
t.train_from_iterator(["is number even yes no"] * 20, trainers.BpeTrainer(vocab_size=300, special_tokens=["<unk>", "<s>", "</s>"], initial_alphabet=alphabet))
tok = PreTrainedTokenizerFast(tokenizer_object=t, unk_token="<unk>", bos_token="<s>", eos_token="</s>", pad_token="</s>")
for folder, seed in zip(sys.argv[1::2], sys.argv[2::2]):
    torch.manual_seed(int(seed))
    c = LlamaConfig(vocab_size=len(tok), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=128)
    LlamaForCausalLM(c).save_pretrained(folder); tok.save_pretrained(folder)
"""
TASK = """
task: toyqa
dataset_path: json
dataset_kwargs:
  data_files:
    test: {file}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{question}}}}"
doc_to_choice: ["yes", "no"]
doc_to_target: label
metric_list:
  - metric: acc
    aggregation: mean
    higher_is_better: true
metadata:
  version: 1
"""


def study(tmp_path: Path) -> Path:
    """Two trained methods of one seed each."""
    work = make_workspace(tmp_path)
    plan = make_plan()
    assert plan.dataset is not None
    for name in ("ours", "base"):
        (work / f"plans/{name}").mkdir(parents=True, exist_ok=True)
        (work / f"plans/{name}/plan.json").write_text(
            write_plan(structs.replace(plan, name=name, dataset=structs.replace(plan.dataset, path="../train.jsonl")))
        )
    (work / "study.toml").write_text(
        '[study]\nours = "ours"\nbaselines = ["base"]\nseeds = [1]\n[methods.ours]\n[methods.base]\n[datasets.toy]\ntrain = "../train.jsonl"\n'
    )
    return work


def finished(work: Path, run: str) -> None:
    (work / "runs" / run).mkdir(parents=True, exist_ok=True)
    (work / "runs" / run / "record.json").write_text(
        json.dumps({"run": run, "method": run.split(".")[0], "exit_code": 0, "ended_at": "2026-01-01T00:00:00+00:00"})
    )


class TestLaunchOfEvaluations:
    def test_the_next_command_of_evaluate_starts_what_it_shows(self, tmp_path: Path) -> None:
        work = study(tmp_path)
        shown = evaluate([work], tasks=["toyqa"], shots=2)
        assert shown.action == f"papertrain launch {work} --tasks toyqa --shots 2 --yes"
        r = launch(work, tasks=["toyqa"], shots=2, yes=True)
        assert [c["command"] for c in r.data["commands"]] == [c["command"] for c in shown.data["commands"]]
        assert r.data["started"] is False and "no model is there yet" in r.explanation

    def test_words_after_the_dashes_go_to_all_methods_alike(self, tmp_path: Path) -> None:
        work = study(tmp_path)
        for run in ("ours.toy.1", "base.toy.1"):
            finished(work, run)
        r = launch(work, tasks=["toyqa"], passthrough=["--include_path", "my tasks"], dry_run=True)
        assert (
            all("--include_path 'my tasks'" in c["command"] for c in r.data["commands"])
            and len(r.data["commands"]) == 2
        )
        assert r.action is not None and r.action.endswith("--yes -- --include_path 'my tasks'")

    def test_a_study_without_a_trained_method_has_nothing_to_evaluate(self, tmp_path: Path) -> None:
        work = make_workspace(tmp_path, command="x")
        with pytest.raises(PapertrainError, match="no trained method"):
            launch(work, tasks=["toyqa"], run="base.toy.1")


def samples(work: Path, run: str, task: str, stamp: str, right: list[bool]) -> None:
    folder = work / f"results/{run}/m"
    folder.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = [
        {
            "doc_id": i,
            "doc_hash": f"h{i}",
            "target": "a",
            "target_hash": "t",
            "prompt_hash": f"p{i}",
            "filter": "none",
            "metrics": ["acc"],
            "acc": float(ok),
            "resps": [],
        }
        for i, ok in enumerate(right)
    ]
    (folder / f"samples_{task}_{stamp}.jsonl").write_text("\n".join(map(json.dumps, rows)))


def test_tasks_of_the_harness_are_columns_beside_the_own_test_set_and_the_newest_counts(tmp_path: Path) -> None:
    work = study(tmp_path)
    for run, n in (("ours.toy.1", 30), ("base.toy.1", 20)):
        finished(work, run)
        (work / f"runs/{run}/predictions.csv").write_text(
            "id,label,prediction\n" + "".join(f"{i},{i % 2},{i % 2 if i < n else 1 - i % 2}\n" for i in range(40))
        )
        samples(work, run, "arc", "2026-01-01T00-00-00", [False] * 40)
        samples(work, run, "arc", "2026-02-01T00-00-00", [i < n for i in range(40)])
        samples(work, run, "boolq", "2026-01-01T00-00-00", [i % 2 == 0 for i in range(40)])
    t = compare([work]).data["table"]
    column = {(c["dataset"], c["metric"]): j for j, c in enumerate(t["columns"])}
    ours = t["cells"][t["rows"].index("ours")]
    assert (
        ours[column["arc", "acc"]]["value"] == 0.75
        and ours[column["boolq", "acc"]]["value"] == 0.5
        and ours[column["toy", "em"]]["value"] == 0.75
    )


@pytest.mark.frameworks
@pytest.mark.skipif(
    not (ENV / "bin/lm_eval").exists(), reason="lm-evaluation-harness is not installed (make frameworks)"
)
def test_a_task_is_run_on_local_models_and_compared_item_by_item(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = study(tmp_path)
    for run in ("ours.toy.1", "base.toy.1"):
        finished(work, run)
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TOKENIZERS_PARALLELISM"):
        monkeypatch.setenv(name, "1" if name != "TOKENIZERS_PARALLELISM" else "false")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    folders = [str(work / f"runs/{run}/model") for run in ("ours.toy.1", "base.toy.1")]
    subprocess.run(
        [ENV / "bin/python", "-c", MODEL, folders[0], "1", folders[1], "2"],
        check=True,
        capture_output=True,
        timeout=300,
    )
    (tmp_path / "q.jsonl").write_text(
        "".join(json.dumps({"question": f"is number {i} even?", "label": i % 2}) + "\n" for i in range(40))
    )
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks/toyqa.yaml").write_text(TASK.format(file=tmp_path / "q.jsonl"))
    r = launch(
        work,
        tasks=["toyqa"],
        env=str(ENV),
        yes=True,
        passthrough=["--include_path", str(tmp_path / "tasks"), "--device", "cpu"],
    )
    logs = [(work / x["log"]).read_text(errors="replace")[-2000:] for x in r.data["runs"]]
    assert [x["exit_code"] for x in r.data["runs"]] == [0, 0], logs
    compared = compare([work])
    t = compared.data["table"]
    published = {m: next((work / f"results/{m}.toy.1").rglob("results_*.json")) for m in ("ours", "base")}
    j = next(j for j, c in enumerate(t["columns"]) if c["dataset"] == "toyqa" and c["metric"] == "acc")
    for method, file in published.items():
        said = json.loads(file.read_text())["results"]["toyqa"]["acc,none"]
        cell = t["cells"][t["rows"].index(method)][j]
        assert cell["value"] == pytest.approx(said, abs=1e-12) and cell["status"] == "verified"
    (test,) = [x for x in compared.data["tests"] if x["column"] == j]
    assert test["test"] == "mcnemar-exact" and test["n"] == 40 and compared.exit_code() == 0
