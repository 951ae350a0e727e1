"""`compare` in a workspace: compute that was measured, data as counted, parameters with budgets, the setup in words; and figures of cost and size."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from scored import A, B, predictions, two
from workspaces import make_workspace

from papertrain.core.errors import PapertrainError
from papertrain.core.workspace import Workspace
from papertrain.verbs.compare import compare
from papertrain.verbs.comparing.costs import EXAMPLES, SIZE, STEP, _named
from papertrain.verbs.comparing.study import costs, spent


def record(work: Path, run: str, *, place: str = "", log: str = "", **more: Any) -> None:
    folder = work / "runs" / (place or run)
    folder.mkdir(parents=True, exist_ok=True)
    base = {
        "run": run,
        "method": run.split(".")[0],
        "device": "NVIDIA H200",
        "seconds": 3600.0,
        "exit_code": 0,
        "attempts": [],
    }
    (folder / "record.json").write_text(json.dumps(base | more))
    if log:
        (folder / "train_log.jsonl").write_text(log + "\n")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """ours with two seeds on four cards, a baseline on one; a start that failed and one that was stopped."""
    work = make_workspace(tmp_path, command="x")
    study = (
        (work / "study.toml")
        .read_text()
        .replace("[methods.ours]", '[methods.ours]\nlabel = "Ours & co"\ntrials = 3')
        .replace('kind = "command"', 'kind = "command"\ntrials = 3')
    )
    (work / "study.toml").write_text(study)
    four = '{"event": "start", "devices": 4}'
    record(
        work,
        "ours.toy.1",
        log=four,
        attempts=[
            {"started_at": "2026-01-01T00:00:00+00:00", "ended_at": "2026-01-01T00:30:00+00:00", "exit_code": 130}
        ],
    )
    record(work, "ours.toy.2", log=four, seconds=7200.0)
    record(work, "ours.toy.2", place="earlier/ours.toy.2.1", log=four, seconds=600.0, exit_code=1)
    record(work, "base.toy.1", environment={"CUDA_VISIBLE_DEVICES": "3"}, seconds=900.0)
    for run, right in (("ours.toy.1", A), ("ours.toy.2", A), ("base.toy.1", B)):
        predictions(work / f"runs/{run}/predictions.csv", right)
    return work


class TestCompute:
    def test_gpu_hours_are_time_times_the_cards_that_were_used(self, work: Path) -> None:
        ours, base = costs(Workspace(work))
        assert (ours.runs, ours.starts, ours.devices) == (2, 4, "4")
        assert ours.gpu_hours_per_run == pytest.approx((4 + 8) / 2)
        assert ours.gpu_hours_in_all == pytest.approx(4 + 8 + 4 * 600 / 3600 + 4 * 0.5)
        assert base.gpu_hours_per_run == pytest.approx(0.25)

    def test_a_cpu_has_no_gpu_hours_and_that_is_not_zero(self, tmp_path: Path) -> None:
        work = make_workspace(tmp_path, command="x")
        record(work, "base.toy.1", device="cpu", seconds=10.0)
        (c,) = costs(Workspace(work))
        assert c.gpu_hours_in_all is None and c.hours_in_all == pytest.approx(10 / 3600) and "no GPU-hours" in c.reason

    def test_cards_that_nobody_counted_are_not_guessed(self, tmp_path: Path) -> None:
        work = make_workspace(tmp_path, command="x")
        record(work, "base.toy.1", devices=["NVIDIA H200"] * 8)
        (c,) = costs(Workspace(work))
        assert c.gpu_hours_in_all is None and "not recorded" in c.reason

    @pytest.mark.parametrize(
        "bad",
        [
            "",
            "[",
            "[1]",
            '{"method": 3}',
            '{"method": "base", "attempts": [1, null]}',
            '{"method": "base", "seconds": -1, "attempts": {"a": 1}}',
            '{"method": "base", "ended_at": 3}',
        ],
    )
    def test_a_record_that_is_damaged_or_has_no_end_gives_no_number(self, bad: str, tmp_path: Path) -> None:
        work = make_workspace(tmp_path, command="x")
        (work / "runs/base.toy.1").mkdir(parents=True)
        (work / "runs/base.toy.1/record.json").write_text(bad)
        assert all(s.seconds is None for s in spent(Workspace(work)))

    def test_the_table_the_csv_and_the_figure_say_the_same(self, work: Path) -> None:
        r = compare([work], figures=["cost"])
        table = (work / "tables/compute.tex").read_text()
        assert (
            r"Ours \& co & H200 & 4 & 2 & 1.5 & 6 & 4 & 3.67 & 14.7 \\" in table
            and "%   runs/ours.toy.1/record.json" in table
        )
        rows = list(csv.DictReader((work / "tables/compute.csv").open()))
        drawn = {row["method"]: float(row["cost"]) for row in csv.DictReader((work / "figures/cost.csv").open())}
        assert drawn == {"Ours & co": 6.0, "base": 0.25} and float(rows[0]["gpu_hours_per_run"]) == 6.0
        assert {p["name"]: p["drawn"] for p in r.data["figures"]}["cost"] is True
        assert all((work / f"figures/cost.{end}").is_file() for end in ("pdf", "png", "py", "csv", "tikz.tex"))


class TestTables:
    def test_parameters_with_the_budget_and_what_was_swept(self, work: Path) -> None:
        sweep = {
            "parameter": "learning_rate",
            "trials": [
                {"method": "ours", "value": 2e-4},
                {"method": "ours-learning_rate-low", "value": 1e-4},
                {"method": "ours-learning_rate-high", "value": 4e-4},
            ],
        }
        (work / "plans/ours/sweep.json").write_text(json.dumps(sweep))
        compare([work])
        table = (work / "tables/hyperparameters.tex").read_text()
        decisions = Workspace(work).plan("ours").decisions()
        assert table.count(r"\\") == len(decisions) + 3  # the head, the budget, the sweep
        assert r"seed & 1, 2 \\" in table, "the seeds that were run, not the plan's default"
        assert r"tuning trials & 3 \\" in table and "learning rate tried & 1.0e-4, 2.0e-4, 4.0e-4" in table

    def test_each_split_is_counted_and_one_that_is_not_here_stays_unfilled(self, work: Path) -> None:
        compare([work])
        table = (work / "tables/datasets.tex").read_text()
        assert "toy, train & " in table and "toy, test & 1 & " in table
        (work.parent / "test.jsonl").unlink()
        compare([work], overwrite=True)
        assert "toy, test & -- & " in (work / "tables/datasets.tex").read_text()

    def test_the_setup_says_what_the_plan_and_the_records_say(self, work: Path) -> None:
        compare([work])
        text = (work / "tables/setup.tex").read_text()
        v = Workspace(work).plan("ours").values()
        for part in (f"{v['global_batch_size']:,} sequences", "Ours \\& co: ", "Seeds per method: Ours \\& co 2, base 1", "same budget of 3 trials", "All 5 starts, failed ones included, took 14.9 GPU-hours on NVIDIA H200",
                     "(220 test examples)", "two-sided"):  # fmt: skip
            assert part in text, part

    def test_without_a_record_the_compute_is_not_stated(self, tmp_path: Path) -> None:
        work = make_workspace(tmp_path, command="x")
        predictions(work / "runs/base.toy.1/predictions.csv", B)
        compare([work])
        assert (
            "the compute is not stated" in (work / "tables/setup.tex").read_text()
            and not (work / "tables/compute.tex").exists()
        )


class TestSizes:
    @pytest.mark.parametrize(
        ("name", "pattern", "family", "size"),
        [("pythia-1.4b", SIZE, "pythia", 1.4e9), ("opt-125m", SIZE, "opt", 1.25e8), ("Qwen2.5-7B-Instruct", SIZE, "Qwen2.5 -Instruct", 7e9), ("pythia-1p4b", SIZE, "pythia", 1.4e9),
         ("pythia step1000", STEP, "pythia", 1000.0), ("lora 10k examples", EXAMPLES, "lora", 1e4), ("ours-16shot", EXAMPLES, "ours", 16.0), ("ours_n100", EXAMPLES, "ours", 100.0)],
    )  # fmt: skip
    def test_names_say_sizes(self, name: str, pattern: Any, family: str, size: float) -> None:
        assert _named(name, pattern) == (family, size)

    @pytest.mark.parametrize("name", ["ours", "gpt-4", "llama-3", "top-5", "bm25", "mb", "4bit"])
    def test_other_digits_are_no_size(self, name: str) -> None:
        assert all(_named(name, p) is None for p in (SIZE, STEP, EXAMPLES))

    def test_three_sizes_of_a_family_make_a_curve_and_two_do_not(self, tmp_path: Path) -> None:
        names = ["pythia-70m", "pythia-410m", "pythia-1.4b", "opt-125m", "opt-1.3b"]
        file = tmp_path / "t.csv"
        file.write_text(
            "model,dataset,metric,value\n"
            + "".join(f"{n},arc,acc,0.{30 + i}\n{n},arc,latency_ms,{i + 1}.5\n" for i, n in enumerate(names))
        )
        r = compare([file], all=True, output=tmp_path / "out")
        rows = list(csv.DictReader((tmp_path / "out/figures/scaling.csv").open()))
        assert [(x["family"], float(x["size"])) for x in rows] == [
            ("pythia", 7e7),
            ("pythia", 4.1e8),
            ("pythia", 1.4e9),
        ]
        assert {p["name"] for p in r.data["figures"]} >= {"main", "cost", "scaling"}
        assert [float(x["cost"]) for x in csv.DictReader((tmp_path / "out/figures/cost.csv").open())] == [
            1.5,
            2.5,
            3.5,
            4.5,
            5.5,
        ]


class TestProposals:
    def test_what_is_worth_drawing_and_is_not_drawn_is_said(self, tmp_path: Path) -> None:
        r = two(tmp_path, A, B)
        assert "worth drawing: differences" in r.body and "answer A against B" in r.details
        assert "worth drawing" not in two(tmp_path, A, B, all=True).body

    def test_every_proposed_figure_can_be_drawn_and_no_other_is_with_all(self, work: Path) -> None:
        r = compare([work], all=True)
        drawn = {Path(f).stem for f in r.data["files"] if f.endswith(".pdf")}
        assert drawn == {p["name"] for p in r.data["figures"]} - {"curves"}  # the logs here hold no losses


class TestAgainst:
    def test_numbers_and_verdicts_that_changed_since_the_submission(self, tmp_path: Path) -> None:
        two(tmp_path, A, B, output=tmp_path / "submitted")
        worse = [*A[:110], *[True] * 14, *[False] * (220 - 124)]
        r = two(tmp_path, worse, B, against=tmp_path / "submitted")
        assert (
            "ours accuracy: 63.6 → 56.4" in r.body
            and "ours against base, accuracy: significant → not significant" in r.body
        )
        assert r.data["changes"][0]["visible"] is True

    def test_nothing_changed_is_said_too(self, tmp_path: Path) -> None:
        two(tmp_path, A, B, output=tmp_path / "submitted")
        r = two(tmp_path, A, B, against=tmp_path / "submitted", output=tmp_path / "submitted")
        assert r.data["changes"] == [] and "nothing changed since then" in r.body

    def test_the_old_tables_are_read_before_the_new_ones_replace_them(self, tmp_path: Path) -> None:
        two(tmp_path, A, B, output=tmp_path / "paper")
        r = two(tmp_path, B, B, against=tmp_path / "paper", output=tmp_path / "paper")
        assert any(c.get("method") == "ours" for c in r.data["changes"])

    def test_a_submission_that_kept_only_its_latex(self, tmp_path: Path) -> None:
        two(tmp_path, A, B, output=tmp_path / "old")
        (tmp_path / "submitted").mkdir()
        (tmp_path / "submitted/numbers.tex").write_text((tmp_path / "old/tables/numbers.tex").read_text())
        r = two(tmp_path, B, B, against=tmp_path / "submitted")
        assert "\\ptOursAccuracy: 63.6 → 55.5" in r.body

    def test_a_folder_without_tables_is_one_line(self, tmp_path: Path) -> None:
        with pytest.raises(PapertrainError, match="of an earlier comparison"):
            two(tmp_path, A, B, against=tmp_path)


class TestIntervals:
    def test_intervals_and_probability_of_improvement_without_stars_or_p(self, tmp_path: Path) -> None:
        r = two(tmp_path, A, B, metrics=["accuracy"], style=["intervals"], output=tmp_path / "out")
        line = next(x for x in r.body.splitlines() if x.startswith("  ours – base"))
        assert line == "  ours – base, accuracy: +8.2 points [2.5, 14.1], probability of improvement 0.54 (one item)"
        table = (tmp_path / "out/tables/main.tex").read_text()
        assert "dagger" not in table and "circ" not in table and "probability of improvement 0.54 (one item)" in table
        assert "†" not in r.body and "p =" not in r.body

    def test_where_lower_is_better_it_is_the_probability_of_less(self, tmp_path: Path) -> None:
        for system, values in (("ours", (1.0, 1.1, 1.2)), ("base", (2.0, 2.2, 2.1))):
            for s, v in enumerate(values):
                folder = tmp_path / f"r/{system}/seed_{s}"
                folder.mkdir(parents=True)
                (folder / "eval_results.json").write_text(json.dumps({"eval_loss": v}))
        r = compare([tmp_path / "r"], ours="ours", baseline="base", style=["intervals"])
        assert "probability of improvement 1.00 (a run of each)" in r.body


class TestPageOfTheStudy:
    def test_the_venue_of_the_study_shapes_the_tables_unless_another_is_asked_for(self, work: Path) -> None:
        """docs/howto/study.md: `venue = "acl"` is its page. ACL wants the caption below the table, NeurIPS above."""
        (work / "study.toml").write_text(
            (work / "study.toml").read_text().replace("[study]", '[study]\nvenue = "ACL 2026"')
        )
        for run in ("ours.toy.1", "ours.toy.2", "base.toy.1"):
            predictions(work / f"runs/{run}/predictions.csv", A if run.startswith("ours") else B)

        def below() -> bool:
            text = (work / "tables/main.tex").read_text("utf-8")
            return text.index(r"\caption") > text.index(r"\begin{tabular}")

        compare([work])
        assert below()
        compare([work], style=["neurips"])
        assert not below()

    def test_a_venue_whose_page_is_not_known_is_said(self, work: Path) -> None:
        (work / "study.toml").write_text(
            (work / "study.toml").read_text().replace("[study]", '[study]\nvenue = "Journal of X"')
        )
        predictions(work / "runs/ours.toy.1/predictions.csv", A)
        assert "Journal of X, the venue of the study, has a page that is not known here" in compare([work]).body

    def test_another_test_is_a_question_and_leaves_the_tables_as_they_are(self, work: Path) -> None:
        for run in ("ours.toy.1", "base.toy.1"):
            predictions(work / f"runs/{run}/predictions.csv", A if run.startswith("ours") else B)
        assert "tables/main.tex" in compare([work]).data["files"]
        before = (work / "tables/main.tex").read_bytes()
        asked = compare([work], test="wilcoxon")
        assert not asked.data["files"] and f"-o {work} writes this one" in asked.result
        assert (work / "tables/main.tex").read_bytes() == before
        assert "tables/main.tex" in compare([work], test="wilcoxon", output=work).data["files"]


def test_a_test_of_ranks_stands_beside_the_difference_of_the_means_in_the_table(tmp_path: Path) -> None:
    """The median of 220 differences of right and wrong answers is 0, though 63.6 and 55.5 % differ by 8.2 points."""
    r = two(tmp_path, A, B, test="wilcoxon", metrics=["accuracy"])
    (test,) = r.data["tests"]
    assert test["test"] == "wilcoxon" and test["difference"] == pytest.approx(18 / 220)
    assert test["details"]["hodges_lehmann"] is not None and "+8.2 points" in r.result


def test_a_folder_of_tables_with_unknown_columns_names_them(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("gt_lbl,mdl_out\na,a\nb,a\n")
    with pytest.raises(PapertrainError, match="columns: gt_lbl, mdl_out") as error:
        compare([tmp_path])
    assert "--columns label=NAME,prediction=NAME" in str(error.value.ask)
