"""`compare` where the files are not what they seem: mixed units, twins by chance, other items, one class only."""

from __future__ import annotations

import csv
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from patience import quick

sys.path.insert(0, str(Path(__file__).resolve().parent))
from scored import codes, ranks

from papertrain.cli import main
from papertrain.core.errors import PapertrainError
from papertrain.core.report import Report
from papertrain.verbs.compare import compare
from papertrain.verbs.evaluate import evaluate
from papertrain.verbs.explain import explain
from papertrain.verbs.plan import plan
from papertrain.verbs.planning.recipes import rows


def table(path: Path, text: str) -> Path:
    path.write_text(text.strip().replace("; ", "\n") + "\n")
    return path


def labels(path: Path, predicted: Sequence[str], gold: Sequence[str], start: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as out:
        w = csv.writer(out)
        w.writerow(["id", "label", "prediction"])
        w.writerows([start + i, g, p] for i, (g, p) in enumerate(zip(gold, predicted)))
    return path


GOLD = ["pos", "neg", "neu"] * 40
HALF = [g if i % 2 else "pos" for i, g in enumerate(GOLD)]
OTHER_HALF = [g if i % 4 in (0, 1) else "pos" for i, g in enumerate(GOLD)]


class TestUnits:
    def test_a_fraction_and_a_percentage_in_one_column_are_flagged_and_not_ranked(self, tmp_path: Path) -> None:
        r = compare([table(tmp_path / "m.csv", "method,seed,acc; ours,1,0.841; base,1,80.2")])
        assert "mixed-units" in codes(r) and any("unit=" in w for w in r.warnings)
        assert ranks(r) == [None, None] and "best" not in r.result
        assert "0.841" in r.body and "(%)" not in r.body
        assert all("mixed" in t["refused"] for t in r.data["tests"])

    def test_a_system_whose_own_seeds_mix_units_has_no_mean(self, tmp_path: Path) -> None:
        r = compare([table(tmp_path / "m.csv", "method,seed,acc; ours,1,0.841; ours,2,85.0; base,1,80.2; base,2,80.9")])
        rows = dict(zip(r.data["table"]["rows"], r.data["table"]["cells"]))
        assert rows["ours"][0]["value"] is None and "mixed" in rows["ours"][0]["reason"]

    def test_the_unit_can_be_said(self, tmp_path: Path) -> None:
        path = table(tmp_path / "m.csv", "method,seed,acc; ours,1,0.841; base,1,80.2")
        r = compare([path], columns=["unit=percent"])
        assert "mixed-units" not in codes(r) and sorted(ranks(r)) == [1, 2] and "(%)" in r.body

    def test_data_sets_have_their_own_scales(self, tmp_path: Path) -> None:
        text = "method,dataset,seed,accuracy; ours,sst2,1,0.94; ours,mnli,1,86.1; base,sst2,1,0.92; base,mnli,1,84.0"
        r = compare([table(tmp_path / "m.csv", text)])
        assert {c["dataset"]: c["unit"] for c in r.data["table"]["columns"]} == {"sst2": "fraction", "mnli": "percent"}
        assert "94.0" in r.body and " 0.94" not in r.body

    def test_a_long_table_is_read_alike(self, tmp_path: Path) -> None:
        text = "method,metric,value; ours,accuracy,0.841; base,accuracy,80.2; ours,f1,0.8; base,f1,0.7"
        r = compare([table(tmp_path / "m.csv", text)])
        assert {c["metric"]: c["unit"] for c in r.data["table"]["columns"]} == {"accuracy": "mixed", "f1": "fraction"}

    def test_small_percentages_among_larger_ones_are_percentages(self, tmp_path: Path) -> None:
        r = compare([table(tmp_path / "m.csv", "method,accuracy; a,0.8; b,3.1; c,12.5; d,48.0")])
        assert "mixed-units" not in codes(r) and r.data["table"]["columns"][0]["unit"] == "percent"


class TestTwins:
    def test_two_trainings_with_the_same_accuracy_are_two_runs(self, tmp_path: Path) -> None:
        one, other = labels(tmp_path / "a.csv", HALF, GOLD), labels(tmp_path / "b.csv", _turned(), GOLD)
        r = compare(system=[f"ours={one}", f"ours={other}"], metrics=["accuracy"])
        cell = r.data["table"]["cells"][0][0]
        assert cell["n_seeds"] == 2 and "duplicate-value" not in codes(r) and "identical-seeds" not in codes(r)

    def test_the_same_outcomes_under_two_names_are_one_run(self, tmp_path: Path) -> None:
        one = labels(tmp_path / "a.csv", HALF, GOLD)
        other = tmp_path / "b.csv"
        other.write_text(one.read_text() + "\n")
        r = compare(system=[f"ours={one}", f"ours={other}"], metrics=["accuracy"])
        assert r.data["table"]["cells"][0][0]["n_seeds"] == 1 and "duplicate-value" in codes(r)

    def test_the_same_outcomes_under_two_seeds_are_doubted(self, tmp_path: Path) -> None:
        one = labels(tmp_path / "ours_seed1.csv", HALF, GOLD)
        other = labels(tmp_path / "ours_seed2.csv", HALF, GOLD)
        assert "identical-seeds" in codes(compare([one, other], metrics=["accuracy"]))

    def test_reported_scores_that_agree_by_chance_are_two_runs(self, tmp_path: Path) -> None:
        for name, n in (("a", 1), ("b", 2)):
            (tmp_path / name).mkdir()
            (tmp_path / name / "metrics.json").write_text(f'{{"accuracy": 0.8, "f1": 0.{n}}}')
        r = compare(system=[f"ours={tmp_path / 'a/metrics.json'}", f"ours={tmp_path / 'b/metrics.json'}"])
        assert [c["n_seeds"] for c in r.data["table"]["cells"][0]] == [2, 2]


def _turned() -> list[str]:
    """As many right as HALF, other ones."""
    right = sum(a == b for a, b in zip(HALF, GOLD))
    return [g if i >= len(GOLD) - right else ("neg" if g == "pos" else "pos") for i, g in enumerate(GOLD)]


class TestItems:
    def test_systems_of_other_items_are_not_ranked(self, tmp_path: Path) -> None:
        a, b = labels(tmp_path / "a.csv", HALF, GOLD), labels(tmp_path / "b.csv", OTHER_HALF, GOLD, start=1000)
        r = compare(system=[f"a={a}", f"b={b}"])
        assert set(ranks(r)) == {None} and "best" not in r.result + r.body and "different-items" in codes(r)

    def test_the_same_items_in_another_order_are_ranked(self, tmp_path: Path) -> None:
        a, b = labels(tmp_path / "a.csv", HALF, GOLD), labels(tmp_path / "b.csv", OTHER_HALF, GOLD)
        lines = b.read_text().splitlines()
        b.write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
        assert None not in ranks(compare(system=[f"a={a}", f"b={b}"]))


class TestAnswers:
    def test_one_class_only_is_flagged(self, tmp_path: Path) -> None:
        a, b = labels(tmp_path / "a.csv", HALF, GOLD), labels(tmp_path / "b.csv", ["pos"] * len(GOLD), GOLD)
        r = compare(system=[f"a={a}", f"b={b}"])
        assert [i["system"] for i in r.data["issues"] if i.get("code") == "one-class"] == ["b"]
        assert any("'pos' for all 120 items" in w for w in r.warnings)

    def test_answers_that_are_no_class_are_counted(self, tmp_path: Path) -> None:
        said = ["Pos", "neg.", *HALF[2:]]
        r = compare(system=[f"a={labels(tmp_path / 'a.csv', said, GOLD)}"])
        says = next(i["says"] for i in r.data["issues"] if i.get("code") == "unknown-labels")
        assert "2 of 120" in says and "'Pos'" in says and "'neg.'" in says and "lower case" in says

    def test_a_significant_column_is_not_hidden_by_another(self, tmp_path: Path) -> None:
        gold = ["a"] * 170 + ["b"] * 30
        all_a = ["a"] * 200
        mild = ["a"] * 145 + ["b"] * 25 + ["b"] * 24 + ["a"] * 6
        a, b = labels(tmp_path / "a.csv", all_a, gold), labels(tmp_path / "b.csv", mild, gold)
        r = compare(system=[f"ours={a}", f"base={b}"], ours="ours", baseline="base")
        assert "Macro-F1: a significant difference" in r.explanation
        assert "Accuracy: no significant difference" in r.explanation


class TestWhatIsPrinted:
    def test_the_raw_p_stands_beside_the_corrected_one(self, tmp_path: Path) -> None:
        a, b = labels(tmp_path / "a.csv", HALF, GOLD), labels(tmp_path / "b.csv", OTHER_HALF, GOLD)
        r = compare(system=[f"ours={a}", f"base={b}"], ours="ours", baseline="base")
        t = next(t for t in r.data["tests"] if t["column"] == 0)
        assert t["p_text"] in r.result and "after Holm" in r.result
        assert "the interval is of this comparison alone" in r.explanation

    def test_every_mark_is_explained_below_the_table(self, tmp_path: Path) -> None:
        a, b = labels(tmp_path / "a.csv", GOLD, GOLD), labels(tmp_path / "b.csv", HALF, GOLD)
        r = compare(system=[f"ours={a}", f"base={b}"], ours="ours", baseline="base")
        assert "† differs significantly from ours" in r.body and "†_" not in r.body and "_†" not in r.body

    def test_the_same_answers_give_the_same_p_under_any_name(self, tmp_path: Path) -> None:
        a, b = labels(tmp_path / "x" / "a.csv", HALF, GOLD), labels(tmp_path / "x" / "b.csv", OTHER_HALF, GOLD)
        one = compare([a, b], map=["{method}"])
        other = compare(system=[f"first={a}", f"second={b}"])
        assert [t["p"] for t in one.data["tests"]] == [t["p"] for t in other.data["tests"]]
        assert [t["ci"] for t in one.data["tests"]] == [t["ci"] for t in other.data["tests"]]

    def test_what_is_left_out_is_named_with_its_reason(self, tmp_path: Path) -> None:
        text = "method,acc,loss,latency_ms,params,sparkle; ours,0.8,0.4,12,7,3; base,0.7,0.5,11,7,2"
        r = compare([table(tmp_path / "m.csv", text)])
        ways = {c["metric"]: c["higher_is_better"] for c in r.data["table"]["columns"]}
        assert ways == {"acc": True, "latency_ms": False}
        for name in ("loss", "params", "sparkle"):
            assert name in r.body
        r = compare([table(tmp_path / "m.csv", text)], all=True)
        assert {c["metric"]: c["higher_is_better"] for c in r.data["table"]["columns"]}["loss"] is False


class TestNextCommand:
    """Every 🎯 is one command that a person can type: it is run here as a shell would split it."""

    def typed(self, r: Report) -> list[str]:
        words = shlex.split(r.action or "")
        assert words[:1] == ["papertrain"] and "…" not in (r.action or "") and main(words[1:]) == 0, r.action
        return words

    def test_after_a_comparison_of_odd_names(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        a, b = labels(tmp_path / "my a.csv", HALF, GOLD), labels(tmp_path / "it's b.csv", OTHER_HALF, GOLD)
        first = compare([a, b], metrics=["accuracy"], seed=3)
        words = self.typed(first)
        assert words[-2:] == ["-o", "paper"] and "--seed" in words and (tmp_path / "paper/tables/main.tex").is_file()
        again = compare([a, b], output=Path("paper"), overwrite=True)
        assert self.typed(again)[-2:] == ["--against", "paper"]

    def test_where_a_test_is_refused_the_repair_is_said_beside_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        r = compare([table(tmp_path / "m.csv", "method,acc; ours,0.8; base,0.7")], ours="ours", baseline="base")
        assert "keep per-example outputs" in r.explanation
        self.typed(r)

    def test_with_many_systems_ours_and_baseline_are_filled_in(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        r = compare([table(tmp_path / "m.csv", "method,acc; " + "; ".join(f"s{i},0.{i}1" for i in range(1, 9)))])
        assert "--ours" in self.typed(r) and "--baseline" in (r.action or "")

    def test_after_scores_of_two_files(self, tmp_path: Path) -> None:
        a, b = labels(tmp_path / "a.csv", HALF, GOLD), labels(tmp_path / "b.csv", OTHER_HALF, GOLD)
        r = evaluate([a, b])
        assert "a 0." in r.result and "b 0." in r.result
        assert "--baseline" in self.typed(r)
        self.typed(evaluate([a]))

    @pytest.mark.parametrize("name", ["3090", "a100", "H100", "h100-sxm", "learning_rate", "Qwen/Qwen2.5-7B-Instruct"])
    def test_after_an_explanation(self, name: str) -> None:
        self.typed(explain(name))

    def test_a_card_is_printed_in_the_units_of_its_datasheet(self) -> None:
        body = explain("h100-sxm").body
        assert "79.6 GiB" in body and "989.0 TFLOP/s" in body and "GB/s" in body and "85.5 B" not in body
        assert explain("a100").data["gpu"]["id"] == "a100-sxm-80gb" and "read as" in explain("a100").explanation


class TestEvaluateSaysIt:
    def test_odd_answers_are_said_where_scores_are_made(self, tmp_path: Path) -> None:
        r = evaluate([labels(tmp_path / "a.csv", ["Pos"] * len(GOLD), GOLD)])
        assert {"one-class", "unknown-labels"} <= codes(r)
        assert any("'Pos' for all 120 items" in w for w in r.warnings) and any("120 of 120" in w for w in r.warnings)


def test_a_decision_of_a_plan_says_how_to_set_it(tmp_path: Path) -> None:
    plan("Qwen/Qwen2.5-7B-Instruct", gpu="4x A100-80GB", method="lora", output=tmp_path / "my work")
    for name in ("learning_rate", "lora_targets", "packing", "global_batch_size", "lr_scheduler"):
        words = shlex.split(explain(name, plan=tmp_path / "my work").action or "")
        assert "VALUE" not in " ".join(words)
        assert main([*words[1:], "--dry-run"]) == 0, words


def test_the_recipes_are_those_of_whole_plans_in_less_time() -> None:
    begun = process_time()
    found = rows()
    assert quick(process_time() - begun, 2)
    short = next(r for r in found if r.fits in ("no", "tight"))
    assert short.instead and all(r.instead == "" for r in found if r.fits == "yes")


def test_the_same_ids_with_other_gold_labels_are_other_items(tmp_path: Path) -> None:
    a, b = labels(tmp_path / "a.csv", HALF, GOLD), labels(tmp_path / "b.csv", HALF, GOLD[1:] + GOLD[:1])
    r = compare(system=[f"a={a}", f"b={b}"])
    assert set(ranks(r)) == {None} and "different-items" in codes(r)


class TestSeedsThatAreNotThere:
    def accuracies(self, root: Path, **runs: Sequence[float]) -> Report:
        for system, values in runs.items():
            for s, x in enumerate(values, 1):
                file = root / f"{system}/seed_{s}/eval_results.json"
                file.parent.mkdir(parents=True)
                file.write_text(f'{{"eval_accuracy": {x}, "eval_samples": 100}}'.replace("nan", "NaN"))
        return compare([root], ours="ours", baseline="base")

    def test_a_seed_without_a_value_is_named_beside_the_mean_of_the_others(self, tmp_path: Path) -> None:
        r = self.accuracies(tmp_path, ours=(0.8, float("nan"), 0.82), base=(0.7, 0.71, 0.72))
        ours = r.data["table"]["cells"][r.data["table"]["rows"].index("ours")][0]
        assert ours["n_seeds"] == 2 and ours["reason"].startswith("without seed 2: ")

    def test_seeds_that_all_differ_alike_carry_no_test_and_no_interval_without_width(self, tmp_path: Path) -> None:
        r = self.accuracies(tmp_path, ours=(0.81, 0.82, 0.83), base=(0.71, 0.72, 0.73))
        (test,) = r.data["tests"]
        assert "the same in all 3 seeds" in test["refused"] and test["details"]["difference"] == pytest.approx(0.1)

    def test_identical_outputs_have_no_interval_of_zero_width(self, tmp_path: Path) -> None:
        for name in ("ours", "base"):
            labels(tmp_path / f"{name}.csv", HALF, GOLD)
        r = compare([tmp_path], ours="ours", baseline="base")
        assert all(t["ci"] is None or t["ci"]["high"] > t["ci"]["low"] for t in r.data["tests"])
        assert all(t["p"] == 1 for t in r.data["tests"])

    def test_leaving_runs_of_the_baseline_out_makes_nothing_surer(self, tmp_path: Path) -> None:
        """Three against three, then two of the baseline's deleted: what is not known of it is taken from ours."""
        gold = ["a" if i % 3 else "b" for i in range(300)]

        def study(place: Path, runs: int) -> Report:
            for system, count, wrong in (("ours", 3, (60, 84, 96)), ("base", runs, (90, 120, 96))):
                for s in range(count):
                    said = ["c" if (i * 7 + s * 3) % 300 < wrong[s] else g for i, g in enumerate(gold)]
                    labels(place / f"{system}/seed_{s + 1}/preds.csv", said, gold)
            return compare([place], ours="ours", baseline="base", metrics=["accuracy"])

        p = {}
        for runs in (3, 1):
            (main,) = [t for t in study(tmp_path / str(runs), runs).data["tests"] if t["details"].get("role") == "primary"]  # fmt: skip
            p[runs] = main["p"]
            if runs == 1:
                assert any("base has one run: it is taken to vary" in a for a in main["assumptions"])
        assert p[1] > p[3] > 0.05

    def test_a_system_without_chance_in_it_is_not_said_to_vary(self, tmp_path: Path) -> None:
        """TF-IDF with a convex classifier, or a model that was not trained at all: one run is all that there can be."""
        gold = ["a" if i % 3 else "b" for i in range(300)]
        for system, wrongs in (("ours", (60, 84, 96)), ("base", (110,))):
            for s, wrong in enumerate(wrongs):
                said = ["c" if (i * 7 + s * 3) % 300 < wrong else g for i, g in enumerate(gold)]
                labels(tmp_path / f"{system}/seed_{s + 1}/preds.csv", said, gold)

        def main(**more: Sequence[str]) -> tuple[dict[str, Any], str]:
            r = compare([tmp_path], ours="ours", baseline="base", metrics=["accuracy"], **more)
            (test,) = [t for t in r.data["tests"] if t["details"].get("role") == "primary"]
            return test, r.explanation

        (unknown, _), (known, says) = main(), main(deterministic=["base"])
        width = {n: t["ci"]["high"] - t["ci"]["low"] for n, t in (("unknown", unknown), ("known", known))}
        assert width["known"] < 0.8 * width["unknown"] and known["p"] < unknown["p"]
        assert known["difference"] == unknown["difference"]
        assert "base is said to be deterministic" in says and any("one run stands for all" in a for a in known["assumptions"])  # fmt: skip

    def test_runs_that_differ_are_not_deterministic(self, tmp_path: Path) -> None:
        with pytest.raises(PapertrainError, match=r"ours is said to be deterministic, and its 3 runs differ in accuracy"):  # fmt: skip
            self.accuracies(tmp_path, ours=(0.81, 0.82, 0.83), base=(0.71,))
            compare([tmp_path], deterministic=["ours"])
        with pytest.raises(PapertrainError, match="no system 'bsae'"):
            compare([tmp_path], deterministic=["bsae"])
