"""Results folders as they come: every refusal and warning that a comparison owes its reader, and files that are no results."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from patience import quick

sys.path.insert(0, str(Path(__file__).resolve().parent))
from scored import A, B, predictions, small_study

from papertrain.core.errors import PapertrainError
from papertrain.core.report import Report
from papertrain.verbs.compare import compare

NOISE = [(i * 7919) % 10 < 8 for i in range(220)]


def put(folder: Path, name: str, content: Any) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")


def trainer(folder: Path, **values: Any) -> None:
    for system, value in values.items():
        put(
            folder,
            f"{system}/eval_results.json",
            value if isinstance(value, dict) else {"eval_accuracy": value, "eval_samples": 500},
        )


def harness(folder: Path, system: str, entry: dict[str, Any], **more: Any) -> None:
    put(
        folder,
        f"{system}/results.json",
        {"results": {"arc": entry}, "versions": {"arc": 1}, "config": {"limit": None}, **more},
    )


def seeds(folder: Path, **runs: list[list[bool]]) -> None:
    for system, found in runs.items():
        for s, right in enumerate(found, 1):
            predictions(folder / system / f"seed_{s}/predictions.csv", right)


def codes(r: Report) -> dict[str, str]:
    return {i["code"]: i["says"] for i in r.data["issues"] if i.get("code")}


def values(r: Report) -> dict[str, list[Any]]:
    t = r.data["table"]
    return {row: [c["value"] for c in cells] for row, cells in zip(t["rows"], t["cells"])}


def refusals(r: Report) -> list[str]:
    return [t["refused"] for t in r.data["tests"] if t.get("refused")]


def varied(k: int) -> list[list[bool]]:
    return [[(i * (31 + s)) % 10 < 8 for i in range(220)] for s in range(k)]


class TestRefused:
    """No test is made, and what would repair it is said."""

    def test_other_items(self, tmp_path: Path) -> None:
        predictions(tmp_path / "ours.csv", A)
        predictions(tmp_path / "base.csv", B, ids=list(range(500, 720)))
        r = compare([tmp_path], ours="ours")
        assert (
            "different-items" in codes(r)
            and refusals(r)
            and all(c["rank"] is None for row in r.data["table"]["cells"] for c in row)
        )

    def test_a_paired_claim_without_outputs_per_example(self, tmp_path: Path) -> None:
        trainer(tmp_path, ours=0.9, base=0.8)
        r = compare([tmp_path], ours="ours")
        assert all("no per-example outputs" in t for t in refusals(r)) and "--log_samples" in r.explanation

    @pytest.mark.parametrize(("k", "made"), [(2, False), (3, True), (5, True)])
    def test_two_seeds_carry_no_test_over_seeds_and_three_are_indicative(
        self, k: int, made: bool, tmp_path: Path
    ) -> None:
        for system, base in (("ours", 0.9), ("base", 0.8)):
            for s in range(k):
                put(
                    tmp_path,
                    f"{system}/seed_{s}/eval_results.json",
                    {"eval_accuracy": base + s * 0.013 + (s * s) * (0.001 if system == "ours" else 0.002)},
                )
        r = compare([tmp_path], ours="ours", baseline="base")
        assert bool(refusals(r)) is not made
        if not made:
            assert "below 3 per system" in refusals(r)[0]
        assert ("indicative only" in r.explanation) is (made and k < 5)

    def test_other_gold_labels_under_the_same_ids(self, tmp_path: Path) -> None:
        predictions(tmp_path / "ours.csv", A, label="yes")
        predictions(tmp_path / "base.csv", B, label="ja")
        assert any("gold labels of" in t for t in refusals(compare([tmp_path], ours="ours")))

    def test_more_systems_than_can_be_paired_are_all_against_ours(self, tmp_path: Path) -> None:
        for i in range(9):
            predictions(tmp_path / f"m{i}.csv", A[i:] + A[:i])
        assert len({(t["a"], t["b"]) for t in compare([tmp_path], ours="m0").data["tests"]}) == 8


class TestWarned:
    def test_a_stderr_of_zero_on_a_score_between(self, tmp_path: Path) -> None:
        harness(
            tmp_path,
            "ours",
            {"acc,none": 0.856678, "acc_stderr,none": 0.0},
            **{"n-samples": {"arc": {"original": 307, "effective": 307}}},
        )
        harness(tmp_path, "base", {"acc,none": 0.8, "acc_stderr,none": 0.02})
        says = codes(compare([tmp_path]))["zero-stderr"]
        assert "0.020031" in says and "± 0.000 is not printed" in says

    def test_splits_that_differ(self, tmp_path: Path) -> None:
        put(tmp_path, "ours/predict_results.json", {"predict_accuracy": 0.9})
        put(tmp_path, "base/eval_results.json", {"eval_accuracy": 0.8})
        assert "split-differs" in codes(compare([tmp_path]))

    def test_shots_that_differ(self, tmp_path: Path) -> None:
        harness(tmp_path, "ours", {"acc,none": 0.9}, **{"n-shot": {"arc": 5}})
        harness(tmp_path, "base", {"acc,none": 0.8}, **{"n-shot": {"arc": 0}})
        assert "few-shot differs" in codes(compare([tmp_path]))["settings-differ"]

    def test_prompts_that_differ(self, tmp_path: Path) -> None:
        for system, prompt in (("ours", "x"), ("base", "y")):
            lines = [
                {
                    "doc_id": i,
                    "doc_hash": f"h{i}",
                    "target": "a",
                    "target_hash": "t",
                    "prompt_hash": f"{prompt}{i}",
                    "filter": "none",
                    "metrics": ["acc"],
                    "acc": float(i % 3 > 0),
                    "resps": [],
                }
                for i in range(30)
            ]
            put(tmp_path, f"{system}/samples_arc_2026-01-01T00-00-00.jsonl", "\n".join(map(json.dumps, lines)))
        assert "prompt hashes differs" in codes(compare([tmp_path]))["settings-differ"]

    def test_task_versions_that_differ(self, tmp_path: Path) -> None:
        harness(tmp_path, "ours", {"acc,none": 0.9})
        harness(tmp_path, "base", {"acc,none": 0.8}, versions={"arc": 2})
        assert "version-differs" in codes(compare([tmp_path]))

    def test_test_sets_of_other_size(self, tmp_path: Path) -> None:
        trainer(
            tmp_path, ours={"eval_accuracy": 0.9, "eval_samples": 500}, base={"eval_accuracy": 0.8, "eval_samples": 400}
        )
        assert "different-n" in codes(compare([tmp_path]))

    def test_scores_beyond_what_is_possible(self, tmp_path: Path) -> None:
        trainer(tmp_path, ours=101.3, base=88.0)
        assert {"above-limit", "impossible-score"} <= set(codes(compare([tmp_path])))

    def test_fractions_beside_percentages(self, tmp_path: Path) -> None:
        trainer(tmp_path, ours=0.91, base=88.0)
        r = compare([tmp_path], ours="ours")
        assert (
            "mixed-scales" in codes(r)
            and {v for row in values(r).values() for v in row} == {0.91, 88.0, None}
            and refusals(r)
        )

    def test_a_run_on_a_part(self, tmp_path: Path) -> None:
        harness(tmp_path, "ours", {"acc,none": 0.9}, config={"limit": 100})
        harness(tmp_path, "base", {"acc,none": 0.8})
        assert "--limit 100" in codes(compare([tmp_path]))["limit"]

    def test_a_value_that_was_typed(self, tmp_path: Path) -> None:
        put(
            tmp_path,
            "t.csv",
            "method,dataset,metric,value,source\nours,sst2,accuracy,0.91,log\nbase,sst2,accuracy,0.88,typed\n",
        )
        r = compare([tmp_path / "t.csv"])
        assert "base: typed by hand" in codes(r)["typed"] and {
            c["status"] for row in r.data["table"]["cells"] for c in row
        } == {"reported", "typed"}

    def test_the_best_checkpoint_chosen_on_the_set_it_is_reported_on(self, tmp_path: Path) -> None:
        log = [{"step": s, "eval_accuracy": v} for s, v in ((10, 0.7), (20, 0.9), (30, 0.8))]
        put(
            tmp_path,
            "ours/trainer_state.json",
            {"best_metric": 0.9, "best_model_checkpoint": "checkpoint-20", "log_history": log},
        )
        put(tmp_path, "base/eval_results.json", {"eval_accuracy": 0.8})
        assert any("chosen on the evaluation set" in says for says in codes(compare([tmp_path])).values())

    def test_more_trials_for_ours(self, tmp_path: Path) -> None:
        assert "9 trials" in codes(compare([small_study(tmp_path)]))["tuning-budget"]

    def test_one_file_under_two_names(self, tmp_path: Path) -> None:
        seeds(tmp_path, ours=[A], base=[A])
        assert "under 2 names" in codes(compare([tmp_path]))["duplicate-file"]

    def test_seeds_that_changed_nothing(self, tmp_path: Path) -> None:
        trainer(tmp_path)
        for s in (1, 2, 3):
            put(tmp_path, f"ours/seed_{s}/eval_results.json", {"eval_accuracy": 0.9})
            put(tmp_path, f"base/seed_{s}/eval_results.json", {"eval_accuracy": 0.8 + s / 100})
        assert "did the seed reach the training" in codes(compare([tmp_path]))["identical-seeds"]

    def test_too_few_items(self, tmp_path: Path) -> None:
        seeds(tmp_path, ours=[A[:9]], base=[B[:9]])
        assert "few-items" in codes(compare([tmp_path]))

    def test_a_group_without_a_score_of_its_own(self, tmp_path: Path) -> None:
        put(
            tmp_path,
            "ours/results.json",
            {
                "results": {"mmlu": {"alias": "mmlu", " ": ""}, "mmlu_x": {"acc,none": 0.4, "acc_stderr,none": 0.02}},
                "versions": {},
                "group_subtasks": {"mmlu": ["mmlu_x"]},
            },
        )
        put(
            tmp_path,
            "base/results.json",
            {
                "results": {
                    "mmlu": {"acc,none": 0.5, "acc_stderr,none": 0.01},
                    "mmlu_x": {"acc,none": 0.5, "acc_stderr,none": 0.02},
                },
                "versions": {},
                "group_subtasks": {"mmlu": ["mmlu_x"]},
            },
        )
        r = compare([tmp_path])
        (gap,) = [c for row in r.data["table"]["cells"] for c in row if c["value"] is None]
        assert "no score" in codes(r)["no-score"] and gap["reason"] and gap["status"] == "missing"


class TestGaps:
    """A score that is none leaves its cell unfilled, with its reason; the row never vanishes."""

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("NaN", "the file says NaN"),
            ("Infinity", "the file says Infinity"),
            ("null", "the file says null"),
            ("9" * 400, "beyond all bounds"),
        ],
    )
    @pytest.mark.parametrize(
        ("name", "template"),
        [("eval_results.json", '{"eval_accuracy": %s, "eval_samples": 100}'), ("results.json", '{"results": {"arc": {"acc,none": %s, "acc_stderr,none": 0.01}}, "versions": {"arc": 1}}'), ("metrics.json", '{"accuracy": %s, "seed": 1}')],
    )  # fmt: skip
    def test_no_number(self, name: str, template: str, text: str, why: str, tmp_path: Path) -> None:
        if name == "results.json" and text == "null":
            pytest.skip("the harness writes null for what has no such score")
        put(tmp_path, f"ours/{name}", template % text)
        put(tmp_path, f"base/{name}", template % "0.8")
        r = compare([tmp_path])
        cells = dict(zip(r.data["table"]["rows"], r.data["table"]["cells"]))
        assert (
            cells["ours"][0]["value"] is None and why in cells["ours"][0]["reason"] and cells["base"][0]["value"] == 0.8
        )
        assert "unfilled" in r.result

    @pytest.mark.parametrize("text", ["nan", "NaN", "inf", "-", "n/a", ""])
    def test_no_number_in_a_table(self, text: str, tmp_path: Path) -> None:
        put(tmp_path, "t.csv", f"method,dataset,metric,value\nours,sst2,accuracy,{text}\nbase,sst2,accuracy,0.8\n")
        assert values(compare([tmp_path / "t.csv"])) == {"ours": [None], "base": [0.8]}

    def test_seeds_that_are_missing_are_counted_and_never_filled(self, tmp_path: Path) -> None:
        seeds(tmp_path, ours=varied(4), base=varied(2))
        r = compare([tmp_path], ours="ours", baseline="base")
        assert {row: cells[0]["n_seeds"] for row, cells in zip(r.data["table"]["rows"], r.data["table"]["cells"])} == {
            "base": 2,
            "ours": 4,
        }
        assert len(r.data["table"]["cells"][0][0]["seeds"]) == 2

    def test_an_average_is_taken_over_complete_rows_only(self, tmp_path: Path) -> None:
        put(
            tmp_path,
            "t.csv",
            "method,dataset,metric,value\nours,a,accuracy,0.9\nours,b,accuracy,0.7\nbase,a,accuracy,0.8\n",
        )
        r = compare([tmp_path / "t.csv"])
        assert values(r)["base"].count(None) >= 1 and 0.8 not in values(r)["base"][1:]


class TestFilesThatAreNoResults:
    @pytest.mark.parametrize(
        ("name", "make", "code"),
        [
            ("base.csv", lambda p: p.write_bytes(b""), "empty-file"), ("base.json", lambda p: p.write_bytes(b""), "empty-file"), ("base.jsonl", lambda p: p.write_bytes(b""), "empty-file"),
            ("base.npz", lambda p: p.write_bytes(b""), "empty-file"), ("base.csv", lambda p: p.write_text("id,label,prediction\n"), "empty-file"),
            ("base.csv", lambda p: p.write_bytes(bytes(range(256)) * 20), "binary"), ("base.json", lambda p: p.write_text('{"results": {"arc": {"acc'), "bad-json"),
            ("base.npz", lambda p: p.write_bytes(b"PK\x03\x04junk"), "bad-npz"), ("base.parquet", lambda p: p.write_bytes(b"PAR1junk"), "bad-parquet"), ("base.xlsx", lambda p: p.write_bytes(b"PKjunk"), "bad-xlsx"),
            ("base.csv", lambda p: p.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"), "lfs-pointer"),
            ("base.csv", lambda p: p.write_text("id,label,prediction\n1,a,a\n1,a,b\n"), "duplicate-id"), ("base.csv", lambda p: p.write_text("id,label,prediction\n1,,a\n2,,b\n"), "no-label"),
            ("base.csv", lambda p: p.write_text("id,label,label\n1,a,a\n"), "duplicate-column"),
        ],
    )  # fmt: skip
    def test_each_is_named_with_its_reason_and_the_rest_is_compared(
        self, name: str, make: Callable[[Path], object], code: str, tmp_path: Path
    ) -> None:
        predictions(tmp_path / "ours.csv", A)
        make(tmp_path / name)
        r = compare([tmp_path])
        assert (
            code in codes(r)
            and name.partition(".")[0] in codes(r)[code]
            and values(r)["ours"][0] == pytest.approx(140 / 220)
        )
        assert any(codes(r)[code] == w for w in r.warnings)

    def test_a_folder_of_nothing_else_says_why(self, tmp_path: Path) -> None:
        put(tmp_path, "x/results.json", "")
        with pytest.raises(PapertrainError, match="empty"):
            compare([tmp_path])

    def test_pipes_links_in_circles_and_hidden_files_are_passed_over(self, tmp_path: Path) -> None:
        seeds(tmp_path, ours=[A], base=[B])
        (tmp_path / "ours/again").symlink_to(tmp_path)
        os.mkfifo(tmp_path / "pipe.csv")
        put(tmp_path, ".hidden/x.csv", "id,label,prediction\n1,a,b\n")
        put(tmp_path, "~$book.xlsx", "lock of a spreadsheet")
        assert set(values(compare([tmp_path]))) == {"ours", "base"}


NAMES = [
    "我们的方法",
    "émoji😀",
    "a b",
    "50%_of & $x$ #1",
    "'; DROP TABLE",
    "=cmd|'calc'!A0",
    "עברית",
    "x" * 120,
    "a.b.c",
    "-rf",
    "\\input{x}",
]


def test_any_name_is_a_row_and_is_written(tmp_path: Path) -> None:
    for i, name in enumerate(NAMES):
        predictions(tmp_path / "r" / name / "predictions.csv", A[i:] + A[:i])
    r = compare([tmp_path / "r"], ours=NAMES[0], metrics=["accuracy"], output=tmp_path / "out")
    assert set(values(r)) == set(NAMES) and not refusals(r)
    table = (tmp_path / "out/tables/main.tex").read_text("utf-8")
    seen = "\n".join(line for line in table.splitlines() if not line.startswith("%"))
    assert "\\input{x}" not in seen and "50\\%\\_of \\& \\$x\\$ \\#1" in table
    assert "\n'=cmd|" in (tmp_path / "out/tables/main.csv").read_text("utf-8")


class TestSpreadsheets:
    def test_decimal_commas_between_semicolons(self, tmp_path: Path) -> None:
        (tmp_path / "t.csv").write_bytes("\ufeffmethod;accuracy\r\nours;0,91\r\nbase;0,88\r\n".encode())
        assert values(compare([tmp_path / "t.csv"])) == {"ours": [0.91], "base": [0.88]}

    def test_thousands_beside_points_stay_text(self, tmp_path: Path) -> None:
        put(tmp_path, "t.csv", "method;accuracy;note\nours;0.91;1,319\nbase;0.88;1,319\n")
        assert values(compare([tmp_path / "t.csv"])) == {"ours": [0.91], "base": [0.88]}

    def test_ids_that_became_floats_meet_the_others(self, tmp_path: Path) -> None:
        put(tmp_path, "ours.csv", "id,label,prediction\n" + "".join(f"{i}.0,{i % 2},{i % 2}\n" for i in range(40)))
        put(
            tmp_path,
            "base.csv",
            "id,label,prediction\n" + "".join(f"{i},{i % 2},{i % 3 % 2}\n" for i in reversed(range(40))),
        )
        (t, *_) = compare([tmp_path], ours="ours").data["tests"]
        assert t["n"] == 40 and t["difference"] == pytest.approx(19 / 40)

    def test_labels_that_became_floats_or_booleans_are_the_same_labels(self, tmp_path: Path) -> None:
        put(
            tmp_path,
            "ours.csv",
            "id,label,prediction\n" + "".join(f"{i},{float(i % 2)},{float(i % 2)}\n" for i in range(40)),
        )
        put(tmp_path, "base.csv", "id,label,prediction\n" + "".join(f"{i},{i % 2},{i % 3 % 2}\n" for i in range(40)))
        assert not refusals(compare([tmp_path], ours="ours"))


@pytest.mark.slow
def test_a_large_file_is_read_in_seconds(tmp_path: Path) -> None:
    from time import process_time

    for name in ("ours", "base"):
        with (tmp_path / f"{name}.csv").open("w") as f:
            f.write("id,label,prediction\n")
            f.writelines(
                f"{i},{i % 5},{i % 5 if (i * (7 if name == 'ours' else 3)) % 10 < 8 else 9}\n" for i in range(200_000)
            )
    started = process_time()
    r = compare([tmp_path], ours="ours")
    assert r.data["tests"][0]["n"] == 200_000 and quick(process_time() - started, 60)
