"""`compare` where the files are not what they seem: mixed units, twins by chance, other items, one class only."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from papertrain.core.report import Report
from papertrain.verbs.compare import compare


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


def codes(r: Report) -> set[str]:
    return {i["code"] for i in r.data["issues"] if "code" in i}


def ranks(r: Report) -> list[Any]:
    return [c["rank"] for row in r.data["table"]["cells"] for c in row]


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
