"""`compare` from files to answer: the cases that must come out right, and what is refused."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from scored import A, B, cell, comparison, predictions, small_study, two

from papertrain.core.errors import PapertrainError, Refused
from papertrain.verbs.compare import compare


class TestOneRunEach:
    def test_220_shared_items_30_only_ours_12_only_theirs(self, tmp_path: Path) -> None:
        r = two(tmp_path, A, B)
        t = comparison(r)
        assert t["test"] == "mcnemar-exact" and t["unit"] == "example" and t["n"] == 220
        assert t["p"] == pytest.approx(0.0079, abs=5e-5) and t["difference"] == pytest.approx(18 / 220)
        assert "unpaired z-test (p = 0.080) is the wrong tool" in r.explanation
        assert "30 to 12" in r.result and t["significant"] is True
        assert t["details"]["bootstrap_ci"][0] < t["difference"] < t["details"]["bootstrap_ci"][1]

    def test_values_are_fractions_and_never_rescaled(self, tmp_path: Path) -> None:
        c = cell(two(tmp_path, A, B), "ours")
        assert (
            c["value"] == pytest.approx(140 / 220)
            and c["status"] == "verified"
            and c["rank"] == 1
            and c["evidence"].startswith("E")
        )

    def test_several_columns_are_one_family(self, tmp_path: Path) -> None:
        t = comparison(two(tmp_path, A, B))
        assert t["adjustment"] == "holm" and t["p_adjusted"] >= t["p"] and t["details"]["family"] == 2

    def test_swapping_the_roles_flips_the_sign(self, tmp_path: Path) -> None:
        x, y = predictions(tmp_path / "a.csv", A), predictions(tmp_path / "b.csv", B)
        first = compare(system=[f"x={x}", f"y={y}"], ours="x")
        second = compare(system=[f"x={x}", f"y={y}"], ours="y")
        assert comparison(first)["difference"] == -comparison(second)["difference"]

    def test_other_items_are_refused(self, tmp_path: Path) -> None:
        x = predictions(tmp_path / "a.csv", A)
        y = predictions(tmp_path / "b.csv", B, ids=list(range(5, 225)))
        r = compare(system=[f"ours={x}", f"base={y}"], ours="ours", baseline="base")
        assert "different test items: 5 only for ours, 5 only for base, 215 shared" in comparison(r)["refused"]

    def test_other_gold_labels_are_refused(self, tmp_path: Path) -> None:
        x, y = predictions(tmp_path / "a.csv", A), predictions(tmp_path / "b.csv", B, label="maybe")
        r = compare(system=[f"ours={x}", f"base={y}"], ours="ours", baseline="base")
        assert "gold labels of 110 of 220 shared items differ" in comparison(r)["refused"]

    def test_the_order_of_the_rows_does_not_matter(self, tmp_path: Path) -> None:
        x = predictions(tmp_path / "a.csv", A)
        y = predictions(tmp_path / "b.csv", B)
        lines = y.read_text().splitlines()
        y.write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
        r = compare(system=[f"ours={x}", f"base={y}"], ours="ours", baseline="base")
        assert comparison(r)["p"] == pytest.approx(0.0079, abs=5e-5)

    def test_identical_outputs_and_few_discordant_ones_are_untestable_not_equal(self, tmp_path: Path) -> None:
        r = two(tmp_path, [True] * 50 + [False] * 3, [True] * 48 + [False] * 5)
        assert comparison(r)["details"]["testable"] is False and "untestable and not a tie" in r.explanation
        same = two(tmp_path, A, A)
        assert comparison(same)["p"] == 1.0

    def test_a_difference_that_is_not_significant_says_what_could_be_seen(self, tmp_path: Path) -> None:
        r = two(tmp_path, A, [*([False] * 8), *A[8:200], *([True] * 8), *A[208:]])
        assert "less than 80 % power" in r.explanation

    def test_the_same_file_twice_is_said(self, tmp_path: Path) -> None:
        r = two(tmp_path, A, A)
        assert any(i.get("code") == "duplicate-file" for i in r.data["issues"])


class TestReported:
    def test_accuracies_and_errors_without_items_carry_no_paired_test(self, tmp_path: Path) -> None:
        for name, acc in (("a", 0.39), ("b", 0.347)):
            (tmp_path / f"{name}.json").write_text(
                json.dumps(
                    {
                        "results": {"gsm8k": {"exact_match,none": acc, "exact_match_stderr,none": 0.0134}},
                        "n-samples": {"gsm8k": {"effective": 1319}},
                    }
                )
            )
        r = compare(system=[f"a={tmp_path / 'a.json'}", f"b={tmp_path / 'b.json'}"], ours="a", baseline="b")
        t = r.data["tests"][0]
        assert "no per-example outputs" in t["refused"] and "log_samples" in t["details"]["repair"]
        assert t["details"]["paired_stderr_between"] == [0.0, pytest.approx(0.0268)]

    def test_a_stderr_of_0_is_flagged_and_plus_minus_0_never_printed(self, tmp_path: Path) -> None:
        f = tmp_path / "r.json"
        f.write_text(json.dumps({
            "results": {"math": {"exact_match,none": 0.856678, "exact_match_stderr,none": 0.0}, "mmlu_cot": {"alias": "mmlu_cot"}},
            "n-samples": {"math": {"original": 307, "effective": 307}}, "higher_is_better": {"math": {"exact_match": True}}}))  # fmt: skip
        r = compare(system=[f"a={f}"], output=tmp_path / "out")
        assert any("0.020031" in i["says"] for i in r.data["issues"])
        tex = (tmp_path / "out/tables/main.tex").read_text()
        assert "0.000" not in tex and r"\pm" not in tex
        gap = cell(r, "a", "exact_match", "mmlu_cot")
        assert gap["value"] is None and gap["status"] == "missing" and "group without one of its own" in gap["reason"]
        assert "--" in tex

    def test_percent_and_fraction_do_not_share_a_column(self, tmp_path: Path) -> None:
        (tmp_path / "a.json").write_text('{"eval_accuracy": 0.91}')
        (tmp_path / "b.json").write_text('{"eval_accuracy": 90.5}')
        r = compare(system=[f"a={tmp_path / 'a.json'}", f"b={tmp_path / 'b.json'}"], ours="a")
        assert len(r.data["table"]["columns"]) == 2 and any(i.get("code") == "mixed-scales" for i in r.data["issues"])
        assert {c["value"] for row in r.data["table"]["cells"] for c in row} == {0.91, 90.5, None}

    def test_scores_above_100_shots_versions_and_limits_are_said(self, tmp_path: Path) -> None:
        def doc(acc: float, shots: int, version: int, limit: int | None) -> str:
            return json.dumps(
                {
                    "results": {"t": {"acc,none": acc}},
                    "versions": {"t": version},
                    "n-shot": {"t": shots},
                    "config": {"limit": limit},
                }
            )

        (tmp_path / "a.json").write_text(doc(0.5, 0, 1, None))
        (tmp_path / "b.json").write_text(doc(0.6, 5, 2, 100))
        r = compare(system=[f"a={tmp_path / 'a.json'}", f"b={tmp_path / 'b.json'}"], ours="a")
        codes = {i.get("code") for i in r.data["issues"]}
        assert {"settings-differ", "version-differs", "limit"} <= codes
        assert "different task versions" in r.data["tests"][0]["refused"]
        (tmp_path / "t.csv").write_text("model,accuracy\na,99\nb,123\n")
        assert any(i.get("code") == "above-limit" for i in compare([tmp_path / "t.csv"]).data["issues"])

    def test_lower_is_better_is_honoured_and_unknown_directions_are_asked_for(self, tmp_path: Path) -> None:
        (tmp_path / "t.csv").write_text("method,metric,value\na,wer,10\nb,wer,12\na,zork,1\nb,zork,2\n")
        r = compare([tmp_path / "t.csv"], all=True)
        assert cell(r, "a", "wer")["rank"] == 1 and cell(r, "b", "wer")["rank"] == 2
        assert cell(r, "a", "zork")["rank"] is None and any(
            i.get("code") == "unknown-direction" for i in r.data["issues"]
        )
        r = compare([tmp_path / "t.csv"], columns=["lower=zork"], all=True)
        assert cell(r, "a", "zork")["rank"] == 1

    def test_a_typed_value_is_marked(self, tmp_path: Path) -> None:
        (tmp_path / "t.csv").write_text("method,metric,value,source\na,accuracy,90,typed\nb,accuracy,80,file\n")
        r = compare([tmp_path / "t.csv"])
        assert cell(r, "a")["status"] == "typed" and any(i.get("code") == "typed" for i in r.data["issues"])


class TestSeeds:
    def table(self, tmp_path: Path, ours: list[float], base: list[float]) -> Path:
        f = tmp_path / "s.csv"
        rows = [f"ours,env,success,{s},{v}" for s, v in enumerate(ours)] + [
            f"base,env,success,{s},{v}" for s, v in enumerate(base)
        ]
        f.write_text("\n".join(["method,dataset,metric,seed,value", *rows]) + "\n")
        return f

    def test_five_seeds_mean_deviation_and_t_interval(self, tmp_path: Path) -> None:
        r = compare(
            [self.table(tmp_path, [0.21, 0.35, 0.48, 0.62, 0.79], [0.20, 0.31, 0.40, 0.55, 0.70])],
            ours="ours",
            baseline="base",
        )
        c = cell(r, "ours", "success")
        assert (c["n_seeds"], round(c["value"], 6), round(c["std"], 3)) == (5, 0.49, 0.226)
        assert (round(c["ci"]["low"], 2), round(c["ci"]["high"], 2)) == (0.21, 0.77)
        t = comparison(r, "success")
        assert t["test"] == "paired-t" and t["unit"] == "seed" and t["n"] == 5

    def test_150_episodes_per_seed_are_not_750_observations(self, tmp_path: Path) -> None:
        f = tmp_path / "e.csv"
        rows = [
            f"ours,env,success,{s},{e},{float(e < 150 * m)}"
            for s, m in enumerate([0.2, 0.4, 0.5, 0.6, 0.8])
            for e in range(150)
        ]
        f.write_text("\n".join(["method,dataset,metric,seed,episode,value", *rows]) + "\n")
        c = cell(compare([f]), "ours", "success")
        assert c["n_seeds"] == 5 and c["value"] == pytest.approx(0.5) and c["std"] == pytest.approx(0.2236, abs=1e-3)

    @pytest.mark.parametrize(("k", "says"), [(1, "no per-example outputs"), (2, "no test over seeds below 3")])
    def test_fewer_than_three_seeds_carry_no_test(self, tmp_path: Path, k: int, says: str) -> None:
        r = compare([self.table(tmp_path, [0.5, 0.6][:k], [0.4, 0.5][:k])], ours="ours", baseline="base")
        assert says in r.data["tests"][0]["refused"]

    def test_three_seeds_are_indicative_only(self, tmp_path: Path) -> None:
        r = compare([self.table(tmp_path, [0.5, 0.6, 0.7], [0.4, 0.5, 0.65])], ours="ours", baseline="base")
        assert "indicative only" in r.explanation

    def test_other_seeds_are_independent(self, tmp_path: Path) -> None:
        f = self.table(tmp_path, [0.5, 0.6, 0.7], [0.4, 0.5, 0.65])
        f.write_text(f.read_text().replace("base,env,success,0", "base,env,success,7"))
        assert comparison(compare([f], ours="ours", baseline="base"), "success")["test"] == "welch-t"

    def test_folds_get_the_corrected_test(self, tmp_path: Path) -> None:
        f = tmp_path / "f.csv"
        f.write_text(
            "model,fold,auc\n" + "".join(f"ours,{i},{0.8 + i / 100}\nbase,{i},{0.79 + i / 200}\n" for i in range(5))
        )
        t = comparison(compare([f], ours="ours", baseline="base"), "auc")
        assert t["test"] == "corrected-resampled-t" and t["p"] > t["details"]["naive_p"]


class TestItemsAndSeeds:
    def test_three_trainings_against_one_baseline_draw_items_and_seeds(self, tmp_path: Path) -> None:
        for s in (1, 2, 3):
            predictions(tmp_path / f"r/ours.d.{s}/predictions.csv", [*A[: 200 - s], *([True] * s), *A[200:]])
        predictions(tmp_path / "r/base.d.1/predictions.csv", B)
        r = compare([tmp_path / "r"], ours="ours", baseline="base")
        t = comparison(r, role="primary")
        assert t["unit"] == "example" and "seeds and items" in t["ci"]["method"] and t["details"]["seeds_a"] == 3
        single = [x for x in r.data["tests"] if x["details"].get("role") == "per-seed" and x["test"] == "mcnemar-exact"]
        assert [x["details"]["seed_a"] for x in single] == ["1", "2", "3"]
        assert cell(r, "ours")["n_seeds"] == 3 and cell(r, "base")["n_seeds"] == 1
        assert "read as" in r.body and "method=ours, dataset=d, seed=1" in r.body

    def test_pooled_examples_never_become_n(self, tmp_path: Path) -> None:
        for m, x in (("ours", A), ("base", B)):
            for s in (1, 2, 3):
                flipped = [not ok for ok in x[: s * (m == "ours")]]
                predictions(tmp_path / f"r/{m}.d.{s}/predictions.csv", [*x[s:], *flipped, *x[len(flipped) : s]])
        t = comparison(compare([tmp_path / "r"], ours="ours", baseline="base"), role="primary")
        assert t["unit"] == "seed" and t["n"] <= 6 and "hierarchical_ci" in t["details"]


class TestWorkspace:
    def test_a_missing_run_leaves_its_cell_unfilled_and_names_the_command(self, tmp_path: Path) -> None:
        work = small_study(tmp_path)
        r = compare([work])
        gap = cell(r, "ablated")
        assert gap["value"] is None and gap["reason"] == "not run yet"
        assert r.data["missing"] == [
            {
                "run": "ablated.reviews.1",
                "because": "not run yet",
                "command": f"papertrain launch {work} --run ablated.reviews.1",
            }
        ]
        assert f"papertrain launch {work} --missing" in (r.action or "")
        assert r.data["tests"][0]["a"] == "ours" and r.data["tests"][0]["b"] == "tfidf"

    def test_deleting_predictions_unfills_the_cell(self, tmp_path: Path) -> None:
        work = small_study(tmp_path)
        (work / "runs/tfidf.reviews.1/predictions.csv").unlink()
        assert cell(compare([work]), "tfidf")["reason"] == "finished, but no predictions in runs/tfidf.reviews.1/"

    @pytest.mark.slow
    def test_the_files_are_written_once_and_the_same_twice(self, tmp_path: Path) -> None:
        work = small_study(tmp_path)
        first = compare([work])
        before = {p: p.read_bytes() for p in work.rglob("*") if p.is_file()}
        second = compare([work])
        assert {p: p.read_bytes() for p in work.rglob("*") if p.is_file()} == before
        assert first.data == second.data
        assert {
            "tables/main.tex",
            "tables/numbers.tex",
            "tables/main.csv",
            "tables/main.md",
            "figures/main.pdf",
            "figures/main.py",
            "figures/main.tikz.tex",
        } <= set(first.data["files"])

    @pytest.mark.slow
    def test_an_edited_table_is_not_overwritten(self, tmp_path: Path) -> None:
        work = small_study(tmp_path)
        compare([work])
        tex = work / "tables/main.tex"
        tex.write_text(tex.read_text() + "% mine\n")
        with pytest.raises(Refused, match=r"main\.tex"):
            compare([work])
        compare([work], overwrite=True)

    def test_exploratory_and_dry_run_write_nothing(self, tmp_path: Path) -> None:
        work = small_study(tmp_path)
        compare([work], mode="exploratory")
        compare([work], dry_run=True)
        assert not (work / "tables").exists() and not (work / "evidence.jsonl").exists()

    def test_every_number_of_the_table_has_evidence_with_the_digest_of_its_file(self, tmp_path: Path) -> None:
        import hashlib

        work = small_study(tmp_path)
        r = compare([work])
        known = {e["id"]: e for e in map(json.loads, (work / "evidence.jsonl").read_text().splitlines())}
        for row in r.data["table"]["cells"]:
            for c in row:
                if c["value"] is not None:
                    e = known[c["evidence"]]
                    assert (
                        e["value"] == c["value"]
                        and hashlib.sha256((work / e["file"]).read_bytes()).hexdigest() == e["sha256"]
                    )

    def test_more_tuning_for_ours_is_said(self, tmp_path: Path) -> None:
        assert any(i.get("code") == "tuning-budget" for i in compare([small_study(tmp_path)]).data["issues"])

    @pytest.mark.slow
    def test_against_says_what_changed(self, tmp_path: Path) -> None:
        work = small_study(tmp_path)
        compare([work], output=tmp_path / "submitted")
        predictions(work / "runs/tfidf.reviews.1/predictions.csv", A)
        says = [c["says"] for c in compare([work], against=tmp_path / "submitted", mode="exploratory").data["changes"]]
        assert any(s.startswith("tfidf reviews accuracy: 55.5 → 63.6") for s in says)

    def test_missing_lists_the_runs_only(self, tmp_path: Path) -> None:
        r = compare([small_study(tmp_path)], missing=True)
        assert [m["run"] for m in r.data["missing"]] == ["ablated.reviews.1"] and not (
            tmp_path / "work/tables"
        ).exists()


class TestBadInput:
    @pytest.mark.parametrize("text", ["{", '{"results": ', "nonsense", "", "\x00\x01"])
    def test_a_file_of_another_kind_is_one_line(self, tmp_path: Path, text: str) -> None:
        f = tmp_path / "bad.json"
        f.write_text(text)
        with pytest.raises(PapertrainError) as error:
            compare([f])
        assert error.value.exit == 2 and "bad.json" in error.value.one_line()

    def test_names_that_do_not_exist(self, tmp_path: Path) -> None:
        f = tmp_path / "t.csv"
        f.write_text("method,accuracy\nours,0.9\nbaseline,0.8\n")
        with pytest.raises(PapertrainError) as error:
            compare([f], ours="ourz")
        assert error.value.nearest == "ours"
        for bad in (
            {"system": ["nopath"]},
            {"style": ["nips3000"]},
            {"columns": ["x"]},
            {"columns": ["foo=bar"]},
            {"alpha": 2.0},
            {"resamples": 1},
            {"map": ["{x}"]},
        ):
            with pytest.raises(PapertrainError):
                compare([f], **bad)  # type: ignore[arg-type]
        for nothing in ([], [tmp_path / "nowhere"], [tmp_path / "empty"]):
            (tmp_path / "empty").mkdir(exist_ok=True)
            with pytest.raises(PapertrainError):
                compare(nothing)


def test_friedman_and_critical_difference_over_many_data_sets(tmp_path: Path) -> None:
    f = tmp_path / "w.csv"
    f.write_text(
        "classifier_name,dataset_name,accuracy\n"
        + "".join(f"m{k},d{i},{0.5 + 0.1 * k + 0.01 * ((i * 7 + k * 3) % 5)}\n" for i in range(12) for k in range(4))
    )
    r = compare([f], output=tmp_path / "o", figures=["cd"])
    o = r.data["overall"][0]
    assert (
        o["test"] == "friedman"
        and o["n"] == 12
        and o["mean_ranks"] == [4.0, 3.0, 2.0, 1.0]
        and o["cd"] == pytest.approx(1.354, abs=2e-3)
    )
    assert (tmp_path / "o/figures/cd.pdf").exists()


def test_200_result_files_stay_quick_and_light(tmp_path: Path) -> None:
    import resource
    import subprocess
    import sys

    for m in range(10):
        for s in range(20):
            folder = tmp_path / f"r/m{m}/seed_{s}"
            folder.mkdir(parents=True)
            (folder / "eval_results.json").write_text(
                json.dumps({"eval_accuracy": 0.5 + m / 50 + s / 1000, "eval_f1": 0.4 + m / 50 + s / 900})
            )
    code = (
        f"import sys; from pathlib import Path; from papertrain.verbs.compare import compare; r = compare([Path({str(tmp_path / 'r')!r})], ours='m9', baseline='m0');"
        "assert r.data['table']['cells'][0][0]['n_seeds'] == 20; print([m for m in ('torch','transformers','pandas','statsmodels','matplotlib') if m in sys.modules])"
    )
    start = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime < 6
