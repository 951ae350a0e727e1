"""Result files by their content: own small samples in each program's real format, and real files where ../shared is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from papertrain.core.errors import PapertrainError
from papertrain.results.collect import collect, guess, known_readers, read_file, template
from papertrain.results.source import Source, number

REAL = Path(__file__).resolve().parents[2] / "../shared/data/results"

SAMPLES: dict[str, tuple[str, str]] = {
    "lm-eval": ("results_2026-01-01T00-00-00.json", json.dumps({
        "results": {"gsm8k": {"alias": "gsm8k", "exact_match,strict-match": 0.41, "exact_match_stderr,strict-match": 0.0135}},
        "n-shot": {"gsm8k": 5}, "n-samples": {"gsm8k": {"original": 1319, "effective": 1319}}, "higher_is_better": {"gsm8k": {"exact_match": True}},
        "config": {"model_args": "pretrained=org/model,dtype=bfloat16", "limit": None}})),
    "lm-eval-samples": ("samples_gsm8k_2026-01-01T00-00-00.jsonl", "\n".join(json.dumps(
        {"doc_id": i, "target": "1", "filter": f, "metrics": ["exact_match"], "doc_hash": f"h{i}", "target_hash": "t", "resps": [], "exact_match": float(i % 2)})
        for i in range(4) for f in ("strict-match", "flexible-extract"))),
    "trainer": ("all_results.json", json.dumps({"epoch": 3.0, "eval_accuracy": 0.81, "eval_loss": 0.5, "eval_runtime": 12.3, "eval_samples": 872, "train_loss": 0.2})),
    "trainer-state": ("trainer_state.json", json.dumps({"best_metric": 0.9, "log_history": [
        {"step": 10, "loss": 0.5}, {"step": 10, "eval_accuracy": 0.7}, {"step": 20, "eval_accuracy": 0.9, "eval_runtime": 3}]})),
    "lighteval": ("results_x.json", json.dumps({"config_general": {"model_name": "m", "max_samples": None}, "versions": {}, "config_tasks": {}, "results": {
        "leaderboard|gsm8k|5|0": {"em": 0.4, "em_stderr": 0.01}, "all": {"em": 0.4, "em_stderr": 0.01}}})),
    "opencompass": ("summary.csv", "dataset,version,metric,mode,model-a,/path/model-b\nceval,abc123,accuracy,gen,47.37,-\n--------- Exam ---------,,,,,\nmean,-,naive_average,gen,50.00,51.00\n"),
    "helm": ("stats.json", json.dumps([{"name": {"name": "exact_match", "split": "test"}, "count": 1, "sum": 0.5, "sum_squared": 0.25, "min": 0.5, "max": 0.5, "mean": 0.5, "variance": 0.0}])),
    "code": ("x_eval_results.json", json.dumps({"date": "d", "hash": "h", "eval": {"HumanEval/0": [{"base_status": "pass", "plus_status": "fail"}], "HumanEval/1": [
        {"base_status": "pass", "plus_status": "pass"}]}, "pass_at_k": {"base": {"pass@1": 1.0}}})),
    "mteb": ("ArguAna.json", json.dumps({"task_name": "ArguAna", "mteb_version": "1", "scores": {"test": [{"main_score": 0.38, "hf_subset": "default"}]}})),
    "inspect": ("log.json", json.dumps({"version": 2, "status": "success", "eval": {"task": "x/arc", "model": "m"}, "results": {}, "samples": [
        {"id": 1, "epoch": 1, "scores": {"choice": {"value": "C"}}}, {"id": 1, "epoch": 2, "scores": {"choice": {"value": "I"}}}, {"id": 2, "epoch": 1, "scores": {"choice": {"value": "C"}}}]})),
    "wandb": ("export.csv", '"Step","run-a - eval/accuracy","run-a - eval/accuracy__MIN","run-a - eval/accuracy__MAX"\n"1","0.5","0.5","0.5"\n"2","0.75","0.7","0.8"\n'),
    "mlflow": ("runs.csv", "run_id,status,metrics.accuracy,metrics.train_loss,params.seed,tags.mlflow.runName\nabc,FINISHED,0.9,0.1,3,ours\n"),
    "judges": ("annotations.json", json.dumps([{"instruction": "i", "generator_1": "gpt4", "generator_2": "ours", "preference": 2.0, "dataset": "alpaca"},
                                               {"instruction": "j", "generator_1": "gpt4", "generator_2": "ours", "preference": 1.5}, {"instruction": "k", "generator_1": "a", "generator_2": "b", "preference": None}])),
    "predictions": ("preds.csv", "id,gold_label,pred_label\n1,a,a\n2,b,a\n3,a,a\n"),
    "table": ("scores.csv", "method,dataset,metric,seed,value\nours,sst2,accuracy,1,0.91\nours,sst2,accuracy,2,0.93\nbase,sst2,accuracy,1,-\n"),
    "vlmeval": ("qwen2-vl_MMBench_DEV_EN_acc.csv", '"split","Overall","AR","CP"\n"dev","0.7439","0.7889","0.8142"\n'),
    "llamafactory-eval": ("results.log", "        Average: 62.30\n           STEM: 55.10\nSocial Sciences: 70.00\n     Humanities: 61.25\n          Other: 65.00\n"),
    "classification-report": ("report.json", json.dumps({"neg": {"precision": 0.8, "recall": 0.7, "f1-score": 0.75, "support": 100}, "accuracy": 0.8, "macro avg": {"precision": 0.85, "recall": 0.75, "f1-score": 0.8, "support": 150}})),
    "numbers": ("m.json", json.dumps({"accuracy": 92.80000000000001, "note": "percent"})),
}  # fmt: skip


def write(folder: Path, key: str) -> Path:
    name, text = SAMPLES[key]
    path = folder / name
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize("key", list(SAMPLES))
def test_a_reader_claims_its_sample_and_is_asked_before_any_other_that_would(key: str, tmp_path: Path) -> None:
    path = write(tmp_path, key)
    claimed = [r.id for r in known_readers() if r.sniff(Source(path))]
    assert claimed and claimed[0] == key


def test_every_reader_has_a_sample() -> None:
    assert {r.id for r in known_readers()} == set(SAMPLES)


@pytest.mark.parametrize("key", list(SAMPLES))
def test_a_sample_cut_anywhere_gives_an_answer_or_one_line(key: str, tmp_path: Path) -> None:
    text = write(tmp_path, key).read_text("utf-8")
    for cut in range(0, len(text), max(1, len(text) // 25)):
        part = tmp_path / ("cut" + Path(SAMPLES[key][0]).suffix)
        part.write_text(text[:cut], "utf-8")
        try:
            read_file(part, {})
        except PapertrainError as error:
            assert "\n" not in error.one_line()


def test_values_are_read_as_written(tmp_path: Path) -> None:
    got = {k: read_file(write(tmp_path, k), {}) for k in SAMPLES}
    score = got["lm-eval"].scores[0]
    assert (score.value, score.stderr, score.n, score.system, score.settings["shots"], score.higher_is_better) == (
        0.41,
        0.0135,
        1319,
        "model",
        "5",
        True,
    )
    assert [(i.settings["filter"], i.ids, i.scored) for i in got["lm-eval-samples"].items] == [
        ("strict-match", ["h0", "h1", "h2", "h3"], {"exact_match,strict-match": [0.0, 1.0, 0.0, 1.0]}),
        ("flexible-extract", ["h0", "h1", "h2", "h3"], {"exact_match,flexible-extract": [0.0, 1.0, 0.0, 1.0]}),
    ]
    assert [(s.metric, s.value, s.n) for s in got["trainer"].scores] == [("accuracy", 0.81, 872), ("loss", 0.5, 872)]
    assert [s.value for s in got["trainer-state"].scores] == [0.9] and got["trainer-state"].issues[
        0
    ].code == "best-on-test"
    assert [(s.dataset, s.value) for s in got["lighteval"].scores] == [
        ("gsm8k", 0.4)
    ]  # `all` and its mean of errors are dropped
    assert [(s.system, s.value, s.group) for s in got["opencompass"].scores] == [
        ("model-a", 47.37, False), ("/path/model-b", None, False), ("model-a", 50.0, True), ("/path/model-b", 51.0, True)]  # fmt: skip
    assert got["code"].items[0].scored == {"pass@1": [1.0, 1.0], "plus pass@1": [0.0, 1.0]}
    assert got["inspect"].items[0].scored == {"accuracy": [0.5, 1.0]}  # epochs of one sample are averaged first
    assert got["wandb"].scores[0].value == 0.75
    assert [(s.metric, s.system, s.seed) for s in got["mlflow"].scores] == [("accuracy", "ours", "3")]
    assert got["judges"].items[0].scored == {"win_rate": [1.0, 0.5]} and {i.code for i in got["judges"].issues} == {
        "failed-judgments",
        "judge-order",
    }
    assert [(s.value, s.reason) for s in got["table"].scores][-1] == (
        None,
        "nothing was measured: scores.csv:4 says '-'",
    )
    assert got["numbers"].scores[0].value == 92.80000000000001 and got["numbers"].scores[0].scale == "percent"


def test_a_run_with_limit_is_said(tmp_path: Path) -> None:
    doc = json.loads(SAMPLES["lm-eval"][1])
    doc["config"]["limit"] = 10
    path = tmp_path / "r.json"
    path.write_text(json.dumps(doc))
    assert "--limit 10" in next(i.says for i in read_file(path, {}).issues if i.code == "limit")


@pytest.mark.parametrize(("cell", "value"), [
    ("83.3", 83.3), ("**83.3**", 83.3), ("83.3 %", 83.3), ("1e-5", 1e-5), ("−0.5", -0.5), ("-", None), ("n/a", None), ("", None), ("nan", None), ("inf", None), ("1_000", None),
    (True, None), (float("nan"), None), (10**400, None), ("0x10", None), ([1], None),
])  # fmt: skip
def test_cells(cell: object, value: float | None) -> None:
    assert number(cell) == value


def test_percent_and_fraction_are_told_apart_by_column_and_never_by_cell(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("model,accuracy\na,0.9\nb,4.2\nc,45.1\n")
    assert {s.scale for s in read_file(path, {}).scores} == {"percent"}
    path.write_text("model,accuracy\na,0.9\nb,45.1\n")
    assert {s.scale for s in read_file(path, {}).scores} == {"mixed"}


def test_cells_with_plus_minus_and_counts(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("model,accuracy,f1\na,83.3±0.9,80.1 (0.4)\nb,82.00 (7/8),-\n")
    got = {(s.system, s.metric): s for s in read_file(path, {}).scores}
    assert got["a", "accuracy"].value == 83.3 and got["a", "accuracy"].settings["plus_minus"] == "0.9"
    assert got["a", "f1"].value == 80.1 and got["b", "accuracy"].n == 8 and got["b", "f1"].value is None


def test_rows_of_two_systems_do_not_pass_for_repeated_runs_of_one(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("name,pretrained,accuracy\nViT,openai,0.9\nViT,laion,0.8\n")
    assert {s.system for s in read_file(path, {}).scores} == {"ViT/openai", "ViT/laion"}


def test_names_that_people_use_are_understood_and_others_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("Nummer,Wahrheit,Antwort\n1,a,a\n2,b,a\n")
    with pytest.raises(PapertrainError, match="Nummer, Wahrheit, Antwort"):
        read_file(path, {})
    item = read_file(path, {"id": "Nummer", "label": "Wahrheit", "prediction": "Antwort"}).items[0]
    assert (item.ids, item.label, item.prediction) == (["1", "2"], ["a", "b"], ["a", "a"])


def test_samples_per_problem_become_pass_at_k(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("task_id,passed\n" + "".join(f"{i},{int(j < i)}\n" for i in range(3) for j in range(5)))
    assert read_file(path, {}).items[0].scored["pass@1"] == pytest.approx([0.0, 0.2, 0.4])


def test_repeated_ids_are_refused_with_the_id(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("id,label,prediction\n1,a,a\n1,b,b\n")
    with pytest.raises(PapertrainError, match="'1' occurs more than once"):
        read_file(path, {})


def test_parquet_and_npz(tmp_path: Path) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"id": [1, 2], "label": ["a", "b"], "prediction": ["a", "a"]}), tmp_path / "p.parquet")
    np.savez(
        tmp_path / "p.npz",
        y_true=np.array([0, 1, 1]),
        y_pred=np.array([0, 1, 0]),
        prob=np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]),
    )
    assert read_file(tmp_path / "p.parquet", {}).items[0].prediction == ["a", "a"]
    item = read_file(tmp_path / "p.npz", {}).items[0]
    assert item.label == [0, 1, 1] and item.probabilities == {"0": [0.9, 0.2, 0.6], "1": [0.1, 0.8, 0.4]}


def test_a_pickle_in_an_npz_is_not_opened(tmp_path: Path) -> None:
    import numpy as np

    np.savez(tmp_path / "p.npz", y_true=np.array([object()], dtype=object))
    with pytest.raises(PapertrainError, match="npz"):
        read_file(tmp_path / "p.npz", {})


def test_an_lfs_pointer_says_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 1\n")
    with pytest.raises(PapertrainError, match="git lfs pull"):
        read_file(path, {})


@pytest.mark.parametrize("text", [
    "", "{", "[", "{}", "[]", "null", "1", '{"results": {"a": 1}}', '{"results": {}}', '{"eval": {}, "hash": 1}', '[{"name": {"name": 1}, "sum_squared": 1}]', "a,b\n", ",\n,\n",
    "id,id\n1,2\n", '{"log_history": 3}', '{"log_history": [1]}', '{"task_name": "x", "scores": {"test": [3]}, "mteb_version": 1}', "[" * 100_000, '{"a":' * 5000,
    '{"pass@1": {"a": {}}}', '[{"instance_id": 1, "stats": []}]', '[{"preference": 1, "generator_1": 1, "generator_2": 2}, 3]', '{"metrics": [{"metric": 1, "value": "x"}]}',
    "method,value\nours,\x01\n", "\ufeffid,label,prediction\n1,a,a\n", '"unclosed,label\n1,2', '{"doc_id": 1, "target": 2, "metrics": 5}', "| a |\n| - |\n", "label,prediction\n,\n",
])  # fmt: skip
def test_odd_content_gives_an_answer_or_one_line(text: str, tmp_path: Path) -> None:
    for suffix in (".json", ".jsonl", ".csv", ".md"):
        path = tmp_path / f"x{suffix}"
        path.write_text(text, "utf-8")
        try:
            collect([("", path)])
        except PapertrainError as error:
            assert len(error.one_line()) < 600 and "\n" not in error.one_line()


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=True) | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
        st.sampled_from(["results", "config", "eval", "scores", "test", "metrics", "log_history", "acc", "acc,none", "acc_stderr,none", "pass@1", "task_name", "name", "stats",
                         "instance_id", "label", "prediction", "id", "value", "metric", "model", "task", "samples", "status", "groups", "n-samples"]), inner, max_size=5),
    max_leaves=25,
)  # fmt: skip


@given(JSON)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_json_document_breaks_a_reader(tmp_path: Path, doc: object) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(doc), "utf-8")
    try:
        collect([("", path)])
    except PapertrainError as error:
        assert "\n" not in error.one_line()


class TestPaths:
    def test_run_ids_are_understood(self) -> None:
        got = guess(["ours.reviews.1/predictions.csv", "base.reviews.1/predictions.csv"], [])
        assert [(g.method, g.dataset, g.seed) for g in got.values()] == [
            ("ours", "reviews", "1"),
            ("base", "reviews", "1"),
        ]

    def test_method_dataset_and_seed_from_folders(self) -> None:
        got = guess(
            [
                f"results/{m}/{d}/seed_{s}/eval_results.json"
                for m in ("ours", "base")
                for d in ("sst2", "mnli")
                for s in (1, 2)
            ],
            [],
        )
        assert (
            got["results/base/mnli/seed_2/eval_results.json"].method,
            got["results/base/mnli/seed_2/eval_results.json"].dataset,
        ) == ("base", "mnli")
        assert {g.seed for g in got.values()} == {"1", "2"}

    def test_seeds_within_names(self) -> None:
        got = guess(["ours_seed1.csv", "ours_seed2.csv", "base_seed1.csv"], [])
        assert [(g.method, g.seed) for g in got.values()] == [("ours", "1"), ("ours", "2"), ("base", "1")]

    def test_a_map_corrects(self) -> None:
        got = guess(["sst2/ours/3/x.json"], [template("{dataset}/{method}/{seed}/*")])
        assert [(g.method, g.dataset, g.seed) for g in got.values()] == [("ours", "sst2", "3")]

    def test_an_unknown_part_of_a_map_is_refused(self) -> None:
        with pytest.raises(PapertrainError, match="foo"):
            template("{foo}/*")


@pytest.mark.skipif(not REAL.exists(), reason="the real result files lie in ../shared, which is not here")
class TestRealFiles:
    def test_all_of_them_are_read_or_refused_in_one_line(self) -> None:
        refused = []
        for path in sorted(REAL.iterdir()):
            try:
                got = read_file(path, {})
                assert got.scores or got.items
            except PapertrainError as error:
                refused.append((path.name, error.code))
        assert refused == [
            ("mbti_transformed_predictions.csv", "unknown-format")
        ]  # no header: nothing says which column is what

    def test_the_wrong_group_error_of_lm_eval_0_4_0_is_named_with_the_right_one(self) -> None:
        got = read_file(REAL / "lmeval_040_latxa-7b-v1.1_eus_exams_eu_5-shot.json", {})
        says = next(i.says for i in got.issues if i.code == "group-stderr")
        assert "29 sub-tasks (15,724 items) 0.00377" in says

    def test_a_dump_that_broke_off_is_salvaged_and_said(self) -> None:
        got = read_file(REAL / "lmeval_truncated_dump.json", {})
        assert got.scores[0].value == 0.6937647987371744 and got.issues[0].code == "truncated"

    def test_tiny_fractions_stay_fractions(self) -> None:
        assert {s.scale for s in read_file(REAL / "humaneval_opt_temp06.json", {}).scores} == {"fraction"}


def test_a_single_table_is_not_named_after_its_file(tmp_path: Path) -> None:
    one, two = tmp_path / "sst2.csv", tmp_path / "mnli.csv"
    for f in (one, two):
        f.write_text("| Model | accuracy |\n|---|---|\n| **[A](http://x)** | 91.2 |\n| B | 90.0 |\n")
    assert {(s.system, s.dataset) for s in collect([("", one)]).scores} == {("A", ""), ("B", "")}
    assert {s.dataset for s in collect([("", one), ("", two)]).scores} == {"sst2", "mnli"}
