"""Every program that we read, in its old and its new layout: small samples made by us in the program's real format."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest

from papertrain.core.errors import PapertrainError
from papertrain.results.collect import collect, read_file
from papertrain.results.readers._xlsx import rows
from papertrain.results.readers.vlmeval import named

Found = tuple[dict[tuple[str, str, str], float], dict[tuple[str, str, str], list[float]]]


def read(path: Path) -> Found:
    """(system, data set, metric) → value; and the same for scores per item."""
    r = read_file(path, {})
    scores = {(s.system, s.dataset, s.metric): s.value for s in r.scores if s.value is not None}
    items = {(i.system, i.dataset, m): v for i in r.items for m, v in i.scored.items()}
    return scores, items


def text(folder: Path, name: str, content: str | list[Any] | dict[str, Any]) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def workbook(path: Path, table: list[list[object]], *, shared: bool = True) -> Path:
    """A workbook as Excel and openpyxl write it (shared strings), or as streaming writers do (inline strings)."""
    strings: list[str] = []

    def cell(x: object, place: str) -> str:
        if isinstance(x, (int, float)):
            return f'<c r="{place}"><v>{x}</v></c>'
        if x is None:
            return ""
        if not shared:
            return f'<c r="{place}" t="inlineStr"><is><t>{escape(str(x))}</t></is></c>'
        strings.append(str(x))
        return f'<c r="{place}" t="s"><v>{len(strings) - 1}</v></c>'

    body = "".join(
        f'<row r="{i}">{"".join(cell(x, chr(65 + j) + str(i)) for j, x in enumerate(row))}</row>'
        for i, row in enumerate(table, 1)
    )
    space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("[Content_Types].xml", "<Types/>")
        z.writestr(
            "xl/worksheets/sheet1.xml",
            f'<?xml version="1.0"?><worksheet {space}><sheetData>{body}</sheetData></worksheet>',
        )
        if shared:
            z.writestr(
                "xl/sharedStrings.xml", f"<sst {space}>{''.join(f'<si><t>{escape(s)}</t></si>' for s in strings)}</sst>"
            )
    return path


class TestLmEval:
    def test_before_0_4_names_have_no_filter(self, tmp_path: Path) -> None:
        old = {"results": {"hellaswag": {"acc": 0.25, "acc_stderr": 0.004, "acc_norm": 0.26, "acc_norm_stderr": 0.004}}, "versions": {"hellaswag": 0},
               "config": {"model": "hf-causal", "model_args": "pretrained=org/m", "num_fewshot": 0, "limit": None}}  # fmt: skip
        scores, _ = read(text(tmp_path, "old.json", old))
        assert (
            scores[("m", "hellaswag", "acc")] == 0.25
            and scores[("m", "hellaswag", "acc_norm")] == 0.26
            and len(scores) == 2
        )

    def test_since_0_4_with_groups_and_counts_of_2026(self, tmp_path: Path) -> None:
        new = {"results": {"mmlu": {"acc,none": 0.4, "acc_stderr,none": 0.01, "alias": "mmlu"}, "mmlu_x": {"acc,none": 0.4, "acc_stderr,none": 0.02, "alias": " - x", "name": "mmlu_x", "sample_len": 600, "sample_count": {"a": 600}}},
               "group_subtasks": {"mmlu": ["mmlu_x"]}, "groups": {"mmlu": {"acc,none": 0.4, "acc_stderr,none": 0.01}}, "configs": {}, "versions": {"mmlu": 2}, "n-shot": {"mmlu_x": 5}, "higher_is_better": {"mmlu_x": {"acc": True}},
               "n-samples": {"mmlu_x": {"original": 600, "effective": 600}}, "config": {"model": "hf", "limit": None}, "model_name": "org/m"}  # fmt: skip
        r = read_file(text(tmp_path, "results_2026-02-02T10-10-10.1.json", new), {})
        assert {(s.dataset, s.metric, s.value, s.group, s.n) for s in r.scores} == {
            ("mmlu", "acc", 0.4, True, None),
            ("mmlu_x", "acc", 0.4, False, 600),
        }

    def test_samples_before_there_were_hashes(self, tmp_path: Path) -> None:
        lines = "\n".join(
            json.dumps(
                {
                    "doc_id": i,
                    "doc": {"q": i},
                    "target": "A",
                    "arguments": [],
                    "resps": [["A"]],
                    "filtered_resps": ["A"],
                    "acc": float(i % 2),
                }
            )
            for i in range(4)
        )
        r = read_file(text(tmp_path, "samples_arc_2024-01-01T00-00-00.jsonl", lines), {})
        assert (
            r.items[0].scored == {"acc": [0.0, 1.0, 0.0, 1.0]}
            and r.items[0].dataset == "arc"
            and [i.code for i in r.issues] == ["no-hash"]
        )

    def test_samples_of_0_4_0_were_one_list(self, tmp_path: Path) -> None:
        rows_ = [
            {
                "doc_id": i,
                "doc": {},
                "target": "A",
                "arguments": [],
                "resps": [],
                "filtered_resps": [],
                "acc": float(i % 2),
            }
            for i in range(4)
        ]
        _, items = read(text(tmp_path, "samples_arc_2024-01-01T00-00-00.jsonl", json.dumps(rows_, indent=2)))
        assert items == {("", "arc", "acc"): [0.0, 1.0, 0.0, 1.0]}


class TestTrainer:
    def test_llamafactory_predict_and_hugging_face_sets(self, tmp_path: Path) -> None:
        scores, _ = read(
            text(
                tmp_path,
                "predict_results.json",
                {
                    "predict_bleu-4": 39.9,
                    "predict_rouge-l": 41.2,
                    "predict_runtime": 9.1,
                    "predict_samples_per_second": 3.0,
                },
            )
        )
        assert scores == {("", "", "bleu-4"): 39.9, ("", "", "rouge-l"): 41.2}
        r = read_file(
            text(
                tmp_path,
                "eval_results.json",
                {"eval_loss": 0.3, "eval_accuracy": 0.9, "eval_samples": 872, "epoch": 3.0},
            ),
            {},
        )
        assert {(s.metric, s.n) for s in r.scores} == {("loss", 872), ("accuracy", 872)}
        r = read_file(
            text(
                tmp_path,
                "all_results.json",
                {
                    "eval_snli_loss": 0.3,
                    "eval_snli_accuracy": 0.9,
                    "eval_mnli_loss": 0.4,
                    "eval_mnli_accuracy": 0.8,
                    "train_loss": 0.1,
                },
            ),
            {},
        )
        assert {(s.dataset, s.metric, s.value) for s in r.scores} == {
            ("snli", "loss", 0.3),
            ("snli", "accuracy", 0.9),
            ("mnli", "loss", 0.4),
            ("mnli", "accuracy", 0.8),
        }

    def test_generated_predictions_of_llamafactory(self, tmp_path: Path) -> None:
        lines = "\n".join(
            json.dumps({"prompt": f"q{i}", "predict": "yes" if i % 3 else "no", "label": "yes"}) for i in range(30)
        )
        (item,) = read_file(text(tmp_path, "generated_predictions.jsonl", lines), {}).items
        assert (
            item.n == 30
            and item.label is not None
            and item.prediction is not None
            and item.prediction[:2] == ["no", "yes"]
        )

    def test_the_eval_stage_of_llamafactory(self, tmp_path: Path) -> None:
        r = read_file(text(tmp_path, "results.log", "        Average: 62.30\n           STEM: 55.10\n"), {})
        assert [(s.dataset, s.value, s.scale, s.group) for s in r.scores] == [
            ("", 62.30, "percent", True),
            ("STEM", 55.10, "percent", False),
        ]
        r = read_file(text(tmp_path, "results.json", {"anatomy": {"0": "B", "1": "C"}}), {})
        assert not r.scores and [i.code for i in r.issues] == ["no-gold"]


class TestLighteval:
    @pytest.mark.parametrize(
        ("task", "name", "shots"),
        [
            ("lighteval|gsm8k|5|0", "gsm8k", "5"),
            ("leaderboard|arc:challenge|25|0", "arc:challenge", "25"),
            ("gsm8k|0", "gsm8k", "0"),
            ("mmlu:_average|5", "mmlu:_average", "5"),
        ],
    )
    def test_task_names_of_all_versions(self, task: str, name: str, shots: str, tmp_path: Path) -> None:
        doc = {
            "config_general": {"model_name": "m", "max_samples": None},
            "config_tasks": {},
            "versions": {},
            "results": {task: {"em": 0.4, "em_stderr": 0.01}, "all": {"em": 0.4, "em_stderr": 0.01}},
        }
        r = read_file(text(tmp_path, "results_x.json", doc), {})
        assert [(s.dataset, s.settings.get("shots")) for s in r.scores] == [(name, shots)]

    @pytest.mark.parametrize("new", [True, False])
    def test_details_per_sample(self, new: bool, tmp_path: Path) -> None:
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        if new:
            table = [
                {
                    "__doc__": {"query": f"q{i}", "choices": ["a", "b"], "gold_index": i % 2, "id": str(i)},
                    "__metric__": {"acc": float(i > 1)},
                    "__model_response__": {"text": ["x"]},
                }
                for i in range(4)
            ]
        else:
            table = [
                {
                    "example": f"q{i}",
                    "full_prompt": f"p{i}",
                    "predictions": ["x"],
                    "gold": ["a"],
                    "metrics": {"acc": int(i > 1)},
                }
                for i in range(4)
            ]
        path = tmp_path / "details_lighteval|arc|0_2026-01-01T00-00-00.parquet"
        pq.write_table(pa.Table.from_pylist(table), path)
        assert read(path)[1] == {("", "arc", "acc"): [0.0, 0.0, 1.0, 1.0]}


class TestOpenCompass:
    def test_summary_of_aisbench_with_counts(self, tmp_path: Path) -> None:
        summary = "dataset,version,metric,mode,total_count,model-a\ngsm8k,abc,accuracy,gen,8,87.50 (7/8)\n"
        scores, _ = read(text(tmp_path, "summary_20260101.csv", summary))
        assert scores == {("model-a", "gsm8k", "accuracy"): 87.5}

    @pytest.mark.parametrize(
        "details",
        [{"type": "GEN", **{str(i): {"prompt": "p", "origin_prediction": "x", "predictions": "A", "references": "B", "correct": i > 0} for i in range(4)}},
         [{"pred": "A", "answer": "B", "correct": i > 0} for i in range(4)]],
        ids=["dict", "list"],
    )  # fmt: skip
    def test_results_with_details(self, details: Any, tmp_path: Path) -> None:
        path = text(tmp_path, "results/qwen/gsm8k.json", {"accuracy": 75.0, "details": details})
        assert read(path) == ({}, {("qwen", "gsm8k", "accuracy"): [0.0, 1.0, 1.0, 1.0]})

    def test_details_without_a_verdict_leave_the_published_score(self, tmp_path: Path) -> None:
        path = text(
            tmp_path,
            "results/qwen/ceval_3.json",
            {"score": 61.5, "details": {"0": {"predictions": "x", "references": "y"}}},
        )
        assert read(path) == ({("qwen", "ceval", "score"): 61.5}, {})


class TestHelm:
    def test_perturbed_rows_are_no_main_numbers(self, tmp_path: Path) -> None:
        stats = [{"name": {"name": "exact_match", "split": "test"}, "count": 1, "sum": 0.5, "sum_squared": 0.25, "mean": 0.5},
                 {"name": {"name": "exact_match", "split": "test", "perturbation": {"name": "typos"}}, "count": 1, "sum": 0.1, "sum_squared": 0.01, "mean": 0.1}]  # fmt: skip
        assert list(read(text(tmp_path, "stats.json", stats))[0].values()) == [0.5]
        instances = [
            {
                "instance_id": f"id{i}",
                "train_trial_index": 0,
                "stats": [{"name": {"name": "exact_match", "split": "test"}, "mean": float(i)}],
            }
            for i in range(2)
        ]
        assert list(read(text(tmp_path, "per_instance_stats.json", instances))[1].values()) == [[0.0, 1.0]]


class TestCode:
    def test_evalplus_needs_base_and_plus(self, tmp_path: Path) -> None:
        new = {
            "date": "d",
            "hash": "h",
            "eval": {
                "HumanEval/0": [{"base_status": "pass", "plus_status": "fail"}],
                "HumanEval/1": [{"base_status": "fail", "plus_status": "pass"}],
                "HumanEval/2": [{"base_status": "pass", "plus_status": "pass"}],
            },
        }
        _, items = read(text(tmp_path, "m_eval_results.json", new))
        assert items == {
            ("", "HumanEval", "pass@1"): [1.0, 0.0, 1.0],
            ("", "HumanEval", "plus pass@1"): [0.0, 0.0, 1.0],
        }

    def test_evalplus_before_0_2(self, tmp_path: Path) -> None:
        old = {
            "date": "d",
            "hash": "h",
            "eval": {
                "HumanEval/0": {
                    "nfiles": 2,
                    "base": [["pass", [True]], ["fail", [False]]],
                    "plus": [["fail", [False]], ["fail", []]],
                },
                "HumanEval/1": {
                    "nfiles": 2,
                    "base": [["pass", [1]], ["pass", [1]]],
                    "plus": [["pass", [1]], ["fail", [0]]],
                },
            },
        }
        _, items = read(text(tmp_path, "old_eval_results.json", old))
        assert items == {("", "HumanEval", "pass@1"): [0.5, 1.0], ("", "HumanEval", "plus pass@1"): [0.0, 0.5]}

    def test_bigcode_and_plain_pass_at_k(self, tmp_path: Path) -> None:
        scores, _ = read(
            text(
                tmp_path,
                "evaluation_results.json",
                {"humaneval": {"pass@1": 0.32, "pass@10": 0.47}, "config": {"model": "m", "temperature": 0.2}},
            )
        )
        assert scores == {("", "humaneval", "pass@1"): 0.32, ("", "humaneval", "pass@10"): 0.47}
        assert read(text(tmp_path, "human.json", {"pass@1": 1e-5}))[0] == {("", "", "pass@1"): 1e-5}


class TestJudges:
    def test_mt_bench_single_grades_and_failed_ones(self, tmp_path: Path) -> None:
        lines = [
            {
                "question_id": q,
                "model": "m",
                "judge": ["gpt-4", "single-v1"],
                "user_prompt": "",
                "judgment": "",
                "score": s,
                "turn": t,
                "tstamp": 1.0,
            }
            for q, t, s in ((81, 1, 8), (81, 2, 7), (82, 1, -1))
        ]
        r = read_file(text(tmp_path, "gpt-4_single.jsonl", "\n".join(map(json.dumps, lines))), {})
        assert (
            r.items[0].scored == {"judge_score": [8.0, 7.0]}
            and r.items[0].cluster == ["81", "81"]
            and r.issues[0].code == "failed-judgments"
        )

    def test_mt_bench_pairs_in_both_orders(self, tmp_path: Path) -> None:
        lines = [
            {
                "question_id": q,
                "model_1": "ours",
                "model_2": "gpt",
                "g1_winner": a,
                "g2_winner": b,
                "judge": ["gpt-4", "pair-v2"],
                "turn": 1,
            }
            for q, a, b in (
                (1, "model_1", "model_1"),
                (2, "model_1", "model_2"),
                (3, "tie", "model_2"),
                (4, "error", "tie"),
            )
        ]
        r = read_file(text(tmp_path, "gpt-4_pair.jsonl", "\n".join(map(json.dumps, lines))), {})
        assert (
            r.items[0].scored == {"win_rate": [1.0, 0.5, 0.25]}
            and r.items[0].system == "ours"
            and r.issues[0].code == "failed-judgments"
        )

    def test_alpaca_leaderboard(self, tmp_path: Path) -> None:
        board = ",win_rate,standard_error,n_wins,n_wins_base,n_draws,n_total,mode,avg_length\ngpt4,50.0,0.0,0,0,805,805,minimal,1365\nours,42.5,1.7,342,463,0,805,community,1200\n"
        scores, _ = read(text(tmp_path, "leaderboard.csv", board))
        assert scores[("ours", "", "win_rate")] == 42.5 and not any("n_total" in k for k in scores)


QUESTIONS = [["index", "question", "A", "B", "answer", "category", "l2-category", "split", "prediction"],
             *([i, f"q{i}", "x", "y", "AB"[i % 2], "ocr", "attribute_reasoning", "dev", p] for i, p in enumerate(["A", "The answer is B.", "(B)", "I cannot tell"]))]  # fmt: skip


class TestVlmEvalKit:
    @pytest.mark.parametrize(
        ("stem", "model", "data"),
        [("qwen2-vl_MMBench_DEV_EN_acc", "qwen2-vl", "MMBench_DEV_EN"), ("llava_v1.5_7b_MMBench_DEV_EN_exact_matching_result", "llava_v1.5_7b", "MMBench_DEV_EN"), ("GPT4o_MMMU_DEV_VAL_openai_result", "GPT4o", "MMMU_DEV_VAL"),
         ("InternVL2-8B_HallusionBench_score", "InternVL2-8B", "HallusionBench"), ("m_MyBench", "m", "MyBench"), ("m", "m", "")],
    )  # fmt: skip
    def test_names_say_model_and_data(self, stem: str, model: str, data: str) -> None:
        assert named(stem) == (model, data)

    @pytest.mark.parametrize("shared", [True, False])
    def test_judged_answers(self, shared: bool, tmp_path: Path) -> None:
        table = [[*QUESTIONS[0], "hit", "log"], *([*row, h, "match"] for row, h in zip(QUESTIONS[1:], [1, 1, 0, 0]))]
        path = workbook(tmp_path / "m_MMBench_DEV_EN_exact_matching_result.xlsx", table, shared=shared)
        (item,) = read_file(path, {}).items
        assert (item.system, item.dataset, item.scored, item.settings) == (
            "m",
            "MMBench_DEV_EN",
            {"accuracy": [1.0, 1.0, 0.0, 0.0]},
            {"judge": "exact_matching"},
        )
        assert item.ids == ["0", "1", "2", "3"] and item.gold is not None

    def test_answers_without_a_judge_are_read_by_their_letter_and_that_is_said(self, tmp_path: Path) -> None:
        r = read_file(workbook(tmp_path / "m_MMBench_DEV_EN.xlsx", QUESTIONS), {})
        assert (
            r.items[0].scored == {"accuracy": [1.0, 1.0, 0.0, 0.0]}
            and "1 of 4 answers hold no single option letter" in r.issues[0].says
        )

    def test_circular_questions_are_one_cluster(self, tmp_path: Path) -> None:
        table = [
            ["index", "question", "answer", "prediction", "hit", "g_index"],
            [0, "q", "A", "A", 1, 0],
            [1000000, "q", "B", "B", 1, 0],
            [1, "r", "A", "B", 0, 1],
        ]
        (item,) = read_file(workbook(tmp_path / "m_MMBench_result.xlsx", table), {}).items
        assert item.cluster == ["0", "0", "1"]

    def test_scores_of_both_kinds(self, tmp_path: Path) -> None:
        r = read_file(text(tmp_path, "m_MMBench_DEV_EN_acc.csv", '"split","Overall","AR"\n"dev","0.74","0.79"\n'), {})
        assert [(s.dataset, s.metric, s.value, s.scale, s.group) for s in r.scores] == [
            ("MMBench_DEV_EN", "accuracy", 0.74, "fraction", True),
            ("MMBench_DEV_EN-AR", "accuracy", 0.79, "fraction", False),
        ]
        r = read_file(
            text(
                tmp_path, "m_HallusionBench_score.csv", '"split","aAcc","fAcc","qAcc"\n"Overall","65.1","38.4","41.0"\n'
            ),
            {},
        )
        assert [(s.value, s.scale) for s in r.scores] == [(65.1, "percent"), (38.4, "percent"), (41.0, "percent")]
        r = read_file(
            text(tmp_path, "m_MME_score.csv", '"perception","reasoning","OCR"\n"1680.5","640.0","175.0"\n'), {}
        )
        assert [(s.dataset, s.metric, s.value, s.scale) for s in r.scores] == [
            ("MME-perception", "score", 1680.5, "number"),
            ("MME-reasoning", "score", 640.0, "number"),
            ("MME-OCR", "score", 175.0, "number"),
        ]
        r = read_file(
            text(
                tmp_path,
                "m_OCRBench_score.json",
                {"Text Recognition": 210, "Final Score": 720, "Final Score Norm": 72.0},
            ),
            {},
        )
        assert {s.value for s in r.scores} == {210.0, 720.0, 72.0}

    def test_the_outputs_of_one_model_count_once(self, tmp_path: Path) -> None:
        for m, hits in (("ours", [1, 1, 1, 0]), ("base", [1, 0, 0, 0])):
            workbook(tmp_path / m / f"{m}_MMBench_DEV_EN.xlsx", QUESTIONS)
            workbook(
                tmp_path / m / f"{m}_MMBench_DEV_EN_openai_result.xlsx",
                [[*QUESTIONS[0], "hit"], *([*row, h] for row, h in zip(QUESTIONS[1:], hits))],
            )
            text(tmp_path, f"{m}/{m}_MMBench_DEV_EN_acc.csv", f'"split","Overall"\n"dev","{sum(hits) / 4}"\n')
        found = collect([("", tmp_path)])
        assert {(i.system, i.dataset): i.scored["accuracy"] for i in found.items} == {
            ("ours", "MMBench_DEV_EN"): [1.0, 1.0, 1.0, 0.0],
            ("base", "MMBench_DEV_EN"): [1.0, 0.0, 0.0, 0.0],
        }
        assert len(found.items) == 2 and not [s for s in found.scores if s.dataset == "MMBench_DEV_EN"]


class TestTracking:
    def test_wandb_table_of_runs(self, tmp_path: Path) -> None:
        export = '"Name","State","seed","eval/accuracy","eval/loss"\n"ours","finished","1","0.9","0.3"\n"base","finished","1","0.8","0.4"\n'
        scores, _ = read(text(tmp_path, "wandb_export.csv", export))
        assert {v for k, v in scores.items() if "accuracy" in k[2]} == {0.9, 0.8}

    def test_mlflow_folder(self, tmp_path: Path) -> None:
        for run, method, value in (("a1", "ours", 0.9), ("b2", "base", 0.8)):
            place = f"mlruns/0/{run}"
            text(tmp_path, f"{place}/meta.yaml", "run_id: x\n")
            text(tmp_path, f"{place}/metrics/accuracy", f"1700000000000 0.5 0\n1700000001000 {value} 10\n")
            text(tmp_path, f"{place}/metrics/train_loss", "1700000000000 0.1 0\n")
            text(tmp_path, f"{place}/params/seed", "3")
            text(tmp_path, f"{place}/tags/mlflow.runName", method)
        found = collect([("", tmp_path)])
        assert {(s.system, s.metric, s.value, s.seed) for s in found.scores} == {
            ("ours", "accuracy", 0.9, "3"),
            ("base", "accuracy", 0.8, "3"),
        }

    def test_mteb_with_languages(self, tmp_path: Path) -> None:
        doc = {
            "task_name": "STS22",
            "mteb_version": "1.2",
            "dataset_revision": "x",
            "scores": {"test": [{"main_score": 0.6, "hf_subset": "en"}, {"main_score": 0.5, "hf_subset": "de"}]},
        }
        assert read(text(tmp_path, "STS22.json", doc))[0] == {
            ("", "STS22 (en)", "main_score"): 0.6,
            ("", "STS22 (de)", "main_score"): 0.5,
        }


class TestWorkbooks:
    """An Excel file is a zip of XML from anywhere."""

    @pytest.mark.parametrize(
        "make",
        [lambda p: p.write_bytes(b""), lambda p: p.write_bytes(b"PK\x03\x04nope"), lambda p: zipfile.ZipFile(p, "w").close(),
         lambda p: _zip(p, "<worksheet>"), lambda p: _zip(p, '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><worksheet>&b;</worksheet>')],
        ids=["empty", "cut", "no sheet", "open", "entities"],
    )  # fmt: skip
    def test_damaged_or_hostile_ones_are_one_line(self, make: Callable[[Path], object], tmp_path: Path) -> None:
        path = tmp_path / "x_result.xlsx"
        make(path)
        with pytest.raises(PapertrainError) as caught:
            rows(path)
        assert caught.value.code == "bad-xlsx"

    def test_holes_keep_their_columns_and_columns_without_end_are_passed_over(self, tmp_path: Path) -> None:
        space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
        _zip(
            tmp_path / "x.xlsx",
            f'<worksheet {space}><sheetData><row><c r="A1"><v>1</v></c><c r="C1"><v>3</v></c><c r="ZZZZZ1"><v>9</v></c></row></sheetData></worksheet>',
        )
        assert rows(tmp_path / "x.xlsx") == [["1", "", "3"]]


def _zip(path: Path, sheet: str) -> None:
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("xl/worksheets/sheet1.xml", sheet)


class TestPublished:
    """Layouts of result files that projects published, with numbers of our own: a key, a row or a version that ours had not."""

    def test_mteb_before_1_8_ranks_by_the_score_of_the_task_kind(self, tmp_path: Path) -> None:
        head = {"dataset_revision": None, "mteb_version": "1.0.2"}
        sts = {
            **head,
            "mteb_dataset_name": "BIOSSES",
            "test": {
                "cos_sim": {"pearson": 0.8, "spearman": 0.81},
                "manhattan": {"spearman": 0.9},
                "evaluation_time": 4.2,
            },
        }
        many = {
            **head,
            "mteb_dataset_name": "STS22",
            "test": {
                "de": {"cos_sim": {"spearman": 0.4}},
                "fr": {"cos_sim": {"spearman": 0.7}},
                "evaluation_time": 12.0,
            },
        }
        found = {
            **head,
            "mteb_dataset_name": "ArguAna",
            "test": {"map_at_10": 0.4, "ndcg_at_1": 0.2, "ndcg_at_10": 0.45},
        }
        kinds = {
            **head,
            "mteb_dataset_name": "Banking77Classification",
            "test": {"accuracy": 0.85, "f1": 0.84, "main_score": 0.85},
            "validation": {"accuracy": 0.9, "main_score": 0.9},
        }
        said: dict[tuple[str, str, str], float] = {}
        for i, document in enumerate((sts, many, found, kinds)):
            said |= read(text(tmp_path, f"{i}.json", document))[0]
        assert said == {("", name, "main_score"): v for name, v in (("BIOSSES", 0.81), ("STS22 (de)", 0.4), ("STS22 (fr)", 0.7), ("ArguAna", 0.45), ("Banking77Classification", 0.85))}  # fmt: skip

    def test_mteb_counts_the_test_split_and_names_every_language_alike(self, tmp_path: Path) -> None:
        """One file with a language, another with two: the shared one is one column. Validation is no second value of it."""

        def document(*subsets: str) -> dict[str, Any]:
            entries = [{"hf_subset": s, "main_score": 0.5} for s in subsets]
            return {"task_name": "Pairs", "mteb_version": "1.11.10", "scores": {"test.full": entries, "validation.full": [{**e, "main_score": 0.9} for e in entries]}}  # fmt: skip

        assert read(text(tmp_path, "a.json", document("fr")))[0] == {("", "Pairs (fr)", "main_score"): 0.5}
        assert set(read(text(tmp_path, "b.json", document("en", "fr")))[0]) == {("", "Pairs (en)", "main_score"), ("", "Pairs (fr)", "main_score")}  # fmt: skip
        assert set(read(text(tmp_path, "c.json", document("default")))[0]) == {("", "Pairs", "main_score")}

    def test_bigcode_tells_parts_of_a_task_its_settings_and_a_partial_run(self, tmp_path: Path) -> None:
        config = {"model": "org/coder", "temperature": 0.2, "n_samples": 100, "limit": 256, "tasks": "mercury"}
        results = {"Easy_pass@1": 0.8, "Hard_pass@1": 0.4, "Average_pass@1": 0.6, "Average_beyond@1": 0.5}
        reading = read_file(text(tmp_path, "evaluation_results.json", {"mercury": results, "config": config}), {})
        assert {(s.system, s.dataset, s.metric): (s.value, s.group) for s in reading.scores} == {
            ("", "mercury-Easy", "pass@1"): (0.8, False), ("", "mercury-Hard", "pass@1"): (0.4, False),
            ("", "mercury", "pass@1"): (0.6, True), ("", "mercury", "beyond@1"): (0.5, True),
        }  # fmt: skip
        assert [i.code for i in reading.issues] == ["limit"]
        assert reading.scores[0].settings == {"n_samples": "100", "temperature": "0.2", "limit": "256"}
        other = {"pal-gsm8k-greedy": {"accuracy": 0.4, "num_failed_execution": 12}, "config": config}
        assert read(text(tmp_path, "other.json", other))[0] == {("", "pal-gsm8k-greedy", "accuracy"): 0.4}

    def test_vlmevalkit_rows_beside_overall_are_parts(self, tmp_path: Path) -> None:
        pope = 'split,Overall,acc,precision\n"Overall",84.9,86.5,96.4\n"random",85.8,87.4,98.7\n'
        scores, _ = read(text(tmp_path, "llava_7b_POPE_score.csv", pope))
        assert scores["llava_7b", "POPE", "accuracy"] == 86.5 and scores["llava_7b", "POPE-random", "accuracy"] == 87.4
        found = collect([("", text(tmp_path, "vila_8b_POPE_score.csv", pope.replace("86.5", "80.0")))]).scores
        assert {s.dataset for s in found if s.group} == {"POPE"}

    def test_vlmevalkit_columns_of_a_table_by_category_stay_apart(self, tmp_path: Path) -> None:
        table = "category,Perception Score,Answer Score\nnonogram_5x5,36.7,0.0\nsudoku_4x4,50.0,23.3\n"
        scores, _ = read(text(tmp_path, "gpt_VGRPBench_score.csv", table))
        assert scores["gpt", "VGRPBench-nonogram_5x5", "Perception Score"] == 36.7
        assert scores["gpt", "VGRPBench-nonogram_5x5", "Answer Score"] == 0.0 and len(scores) == 4

    @pytest.mark.parametrize(("stem", "model", "data"), [
        ("InternVL-Chat-V1-5_MTVQA_TEST_acc", "InternVL-Chat-V1-5", "MTVQA_TEST"), ("gpt-4.1_tdbench_rot90_acc", "gpt-4.1", "tdbench_rot90"),
        ("model_new_NewBench_acc", "model_new", "NewBench"), ("MiniCPM-V-2_MTVQA_TEST_JA_acc", "MiniCPM-V-2", "MTVQA_TEST_JA"),
    ])  # fmt: skip
    def test_the_end_of_a_data_set_is_no_benchmark_by_itself(self, stem: str, model: str, data: str) -> None:
        assert named(stem) == (model, data)

    def test_opencompass_code_results_are_right_or_wrong_per_problem(self, tmp_path: Path) -> None:
        """A percentage, where pass@1 of other programs is a fraction."""
        details = {
            "0": {"programs": "x", "result": "passed", "is_correct": True},
            "1": {"programs": "y", "result": "failed", "is_correct": False},
        }
        scores, items = read(
            text(tmp_path, "results/m/openai_humaneval.json", {"humaneval_pass@1": 50.0, "details": details})
        )
        assert items == {("m", "openai_humaneval", "humaneval_pass@1"): [1.0, 0.0]} and not scores

    def test_lighteval_scores_that_are_fractions_are_read_as_such_and_judges_are_not(self, tmp_path: Path) -> None:
        results = {
            "gsm8k|0": {"extractive_match": 0.5},
            "aime24|0": {"pass@k:k=1": 0.3},
            "mt|0": {"judge_score_turn_1": 7.2},
            "all": {},
        }
        reading = read_file(
            text(tmp_path, "r.json", {"config_general": {"model_config": {"model_name": "org/m"}}, "results": results}),
            {},
        )
        assert {(s.system, s.metric): s.scale for s in reading.scores} == {
            ("org/m", "extractive_match"): "fraction", ("org/m", "pass@k:k=1"): "fraction", ("org/m", "judge_score_turn_1"): "number",
        }  # fmt: skip

    def test_helm_keeps_the_scores_of_its_newer_scenarios(self, tmp_path: Path) -> None:
        rows = [{"name": {"name": n, "split": "test"}, "count": 1, "sum": 0.7, "sum_squared": 0.49, "mean": 0.7} for n in ("chain_of_thought_correctness", "wildbench_score_rescaled", "math_equiv_chain_of_thought", "num_references", "inference_runtime")]  # fmt: skip
        assert {m for _, _, m in read(text(tmp_path, "stats.json", rows))[0]} == {"chain_of_thought_correctness", "wildbench_score_rescaled", "math_equiv_chain_of_thought"}  # fmt: skip

    def test_an_error_belongs_to_the_score_that_stands_before_it(self, tmp_path: Path) -> None:
        """AlpacaEval 2: `length_controlled_winrate,win_rate,standard_error`."""
        board = ",length_controlled_winrate,win_rate,standard_error,n_total\nours,40.1,38.2,1.5,805\nbase,30.1,28.2,1.4,805\n"
        found = read_file(text(tmp_path, "leaderboard.csv", board), {}).scores
        assert {(s.system, s.metric): s.stderr for s in found} == {("ours", "win_rate"): 1.5, ("base", "win_rate"): 1.4, ("ours", "length_controlled_winrate"): None, ("base", "length_controlled_winrate"): None}  # fmt: skip

    def test_runs_of_a_tracker_that_broke_off_are_named(self, tmp_path: Path) -> None:
        runs = "Name,State,seed,eval/accuracy\nours,finished,1,0.8\nbase,crashed,1,0.7\n"
        search = "run_id,status,metrics.acc,tags.mlflow.runName\na,FINISHED,0.8,ours\nb,RUNNING,0.7,base\n"
        for name, content, how in (("wandb.csv", runs, "crashed"), ("mlflow.csv", search, "running")):
            issues = [i for i in read_file(text(tmp_path, name, content), {}).issues if i.code == "not-finished"]
            assert [i.says for i in issues] == [
                f"1 of 2 runs did not finish (row 2: {how}): their last numbers are no results"
            ]

    def test_wandb_charts_over_any_axis_and_the_history_of_one_run(self, tmp_path: Path) -> None:
        chart = '"train/global_step","ours - eval/accuracy","ours - eval/accuracy__MIN","ours - eval/accuracy__MAX"\n"100","0.5","0.4","0.6"\n"200","0.8","0.7","0.9"\n'
        assert read(text(tmp_path, "chart.csv", chart))[0] == {("ours", "", "accuracy"): 0.8}
        history = "_step,_runtime,_timestamp,eval/accuracy,train/loss\n1,2,3,0.5,0.6\n2,3,4,0.7,\n"
        assert read(text(tmp_path, "history.csv", history))[0] == {("", "", "accuracy"): 0.7}

    def test_a_classification_report_is_one_system_and_its_rows_are_classes(self, tmp_path: Path) -> None:
        csv = ",precision,recall,f1-score,support\nneg,0.8,0.7,0.75,100\npos,0.9,0.8,0.85,50\naccuracy,0.8,0.8,0.8,0.8\nmacro avg,0.85,0.75,0.80,150\nweighted avg,0.84,0.74,0.79,150\n"
        said = {"accuracy": 0.8, "macro_precision": 0.85, "macro_recall": 0.75, "macro_f1": 0.8, "weighted_precision": 0.84, "weighted_recall": 0.74, "weighted_f1": 0.79}  # fmt: skip
        assert read(text(tmp_path, "report.csv", csv))[0] == {("", "", m): v for m, v in said.items()}
        average = {"precision": 0.85, "recall": 0.75, "f1-score": 0.8, "support": 150.0}
        document = {"neg": average, "accuracy": 0.8, "macro avg": average}
        assert read(text(tmp_path, "report.json", document))[0] == {("", "", "accuracy"): 0.8, ("", "", "macro_precision"): 0.85, ("", "", "macro_recall"): 0.75, ("", "", "macro_f1"): 0.8}  # fmt: skip

    def test_scores_below_the_first_level_are_read_and_training_is_not(self, tmp_path: Path) -> None:
        document = {"model": "ours", "test": {"metrics": {"accuracy": 0.8, "f1": {"macro": 0.7}}, "n": 500}, "dev": {"metrics": {"accuracy": 0.9}}, "train": {"metrics": {"accuracy": 0.99}}}  # fmt: skip
        assert read(text(tmp_path, "metrics.json", document))[0] == {("ours", "", "accuracy"): 0.8, ("ours", "", "macro_f1"): 0.7}  # fmt: skip
        tasks = {"results": {"sst2": {"accuracy": 0.8}, "mnli": {"accuracy": 0.7}}, "seed": 1}
        assert read(text(tmp_path, "results.json", tasks))[0] == {("", "sst2", "accuracy"): 0.8, ("", "mnli", "accuracy"): 0.7}  # fmt: skip
        for method in ("ours", "base"):
            text(tmp_path, f"paper/{method}/metrics.json", document | {"model": method})
        assert {(s.system, s.dataset) for s in collect([("", tmp_path / "paper")]).scores} == {("ours", ""), ("base", "")}  # fmt: skip

    def test_cells_in_bold_with_their_deviation_and_thousands_are_numbers(self, tmp_path: Path) -> None:
        table = "| Model | SST-2 | Fights |\n|---|---|---|\n| base | 92.1 ± 0.3 | 1,100.0 |\n| **ours** | **93.4±0.2** | 1,234.5 |\n"
        scores, _ = read(text(tmp_path, "t.md", table))
        assert {(s, d): v for (s, d, _), v in scores.items()} == {("base", "SST-2"): 92.1, ("ours", "SST-2"): 93.4, ("base", "Fights"): 1100.0, ("ours", "Fights"): 1234.5}  # fmt: skip

    def test_more_errors_than_words_are_a_percentage_all_the_same(self, tmp_path: Path) -> None:
        found = read_file(
            text(
                tmp_path,
                "t.csv",
                "model,dataset,WER\nours,clean,2.1\nours,other,5.0\nbase,clean,2.5\nbase,other,104.2\n",
            ),
            {},
        )
        assert {s.scale for s in found.scores} == {"percent"}
        found = read_file(text(tmp_path, "u.csv", "model,WER\nours,0.21\nbase,1.04\nother,0.3\n"), {})
        assert {s.scale for s in found.scores} == {"fraction"}
