"""A perfect score on a small set: `evaluate` and `compare` draw no interval without width, and say why there is none."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from papertrain.cli import main
from papertrain.core.texts import language
from papertrain.verbs.compare import compare
from papertrain.verbs.evaluate import evaluate

REASON = "every resample gives the same value"


def answers(path: Path, wrong: tuple[int, ...] = (), n: int = 12, **columns: str) -> Path:
    with path.open("w", newline="") as out:
        w = csv.writer(out)
        w.writerow(["id", "label", "prediction", *columns])
        for i in range(n):
            gold, other = ("spam", "ham") if i % 2 else ("ham", "spam")
            w.writerow([i, gold, other if i in wrong else gold, *columns.values()])
    return path


def areas(path: Path, *, upside_down: bool = False) -> Path:
    with path.open("w", newline="") as out:
        w = csv.writer(out)
        w.writerow(["id", "label", "score"])
        w.writerows([i, i % 2, (1 - i % 2 if upside_down else i % 2) * 0.5 + i * 0.01] for i in range(12))
    return path


def test_evaluate_says_it_once_under_the_table_and_in_the_data(tmp_path: Path) -> None:
    r = evaluate([answers(tmp_path / "a.csv")])
    rows = {m["metric"]: m for m in r.data["metrics"]}
    assert rows["macro_f1"]["value"] == 1.0 and rows["macro_f1"]["ci"] is None and REASON in rows["macro_f1"]["reason"]
    assert rows["accuracy"]["ci"]["method"] == "wilson" and not rows["accuracy"]["reason"]
    assert r.body.count(REASON) == 1 and "[1.0000, 1.0000]" not in r.body
    assert "macro_f1" in " ".join(r.body.split()).partition(REASON)[2] and max(map(len, r.body.splitlines())) <= 100


def test_in_chinese_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = language.set("zh")
    try:
        main(["evaluate", str(answers(tmp_path / "a.csv")), "--lang", "zh"])
        main(["compare", str(answers(tmp_path / "a.csv")), "--style", "intervals", "--lang", "zh"])
    finally:
        language.reset(before)
    said = capsys.readouterr().out
    assert said.count("没有区间：每次重抽样都得到同一个值") == 2 and REASON not in said


def test_compare_puts_it_into_the_note_of_the_cell(tmp_path: Path) -> None:
    pairs = [f"ours={answers(tmp_path / 'a.csv')}", f"base={answers(tmp_path / 'b.csv', (3,))}"]
    r = compare(system=pairs, ours="ours", baseline="base", style=["intervals"])
    j = [c["metric"] for c in r.data["table"]["columns"]].index("macro_f1")
    mine, theirs = (row[j] for row in r.data["table"]["cells"])
    assert mine["ci"] is None and REASON in mine["reason"] and theirs["ci"] is not None and not theirs["reason"]
    assert REASON in " ".join(r.body.split())


def test_equal_outputs_have_no_interval_in_any_detail(tmp_path: Path) -> None:
    pairs = [f"ours={answers(tmp_path / 'a.csv')}", f"base={answers(tmp_path / 'b.csv')}"]
    r = compare(system=pairs, ours="ours", baseline="base")
    tests = {r.data["table"]["columns"][t["column"]]["metric"]: t for t in r.data["tests"]}
    assert "bootstrap_ci" not in tests["accuracy"]["details"]
    assert tests["macro_f1"]["ci"] is None and any(
        "every difference is the same" in a for a in tests["macro_f1"]["assumptions"]
    )
    assert "every difference is the same" in r.body


def test_equal_outputs_over_seeds_neither(tmp_path: Path) -> None:
    for system, seeds in (("ours", (1, 2)), ("base", (1, 2)), ("ours3", (1, 2, 3)), ("base3", (1, 2, 3))):
        for seed in seeds:
            (tmp_path / system / f"seed_{seed}").mkdir(parents=True)
            answers(tmp_path / system / f"seed_{seed}" / "p.csv")
    for a, b in (("ours", "base"), ("ours3", "base3")):
        r = compare(system=[f"{a}={tmp_path / a}", f"{b}={tmp_path / b}"], ours=a, baseline=b)
        for t in r.data["tests"]:
            if "refused" in t or t["details"]["role"] != "primary":
                continue
            assert "hierarchical_ci" not in t["details"]
            assert t["ci"] is None and any("every difference is the same" in x for x in t["assumptions"]), t
        for row in r.data["table"]["cells"]:
            assert all(c["ci"] is None for c in row)
            assert a == "ours" or all("same value" in c["reason"] for c in row)


def test_areas_without_variance_are_refused_a_test(tmp_path: Path) -> None:
    r = compare(system=[f"ours={areas(tmp_path / 'a.csv')}", f"base={areas(tmp_path / 'b.csv', upside_down=True)}"], ours="ours", baseline="base", metrics=["auc"])  # fmt: skip
    (t,) = r.data["tests"]
    assert "no spread" in t["refused"]
    assert r.data["table"]["cells"][0][0]["ci"] is None


def test_the_file_of_a_run_holds_the_reason(tmp_path: Path) -> None:
    r = evaluate([answers(tmp_path / "a.csv")])
    assert "[1.0" not in json.dumps([m["ci"] for m in r.data["metrics"] if m["metric"] != "accuracy"])
