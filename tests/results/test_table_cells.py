"""Cells of a table that are no number: named with file, line and column, or unfilled where nothing was measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from papertrain.results.collect import collect, read_file
from papertrain.results.records import Reading
from papertrain.results.source import Source
from papertrain.verbs.compare import compare
from papertrain.verbs.evaluate import evaluate


def read(path: Path, text: str) -> Reading:
    path.write_text(text)
    return read_file(path, {})


WIDE = "method,seed,accuracy\nours,1,84.0\n\nours,2,{}\nbase,1,80.0\nbase,2,81.0\n"
SHORT = "method,sst2,mnli\nours,84.0,{}\nbase,80.0,81.0\n"
LONG = "method,dataset,metric,value\nours,sst2,accuracy,84.0\n\nbase,sst2,accuracy,{}\n"
LINES = {WIDE: (4, "accuracy"), SHORT: (2, "mnli"), LONG: (4, "value")}


@pytest.mark.parametrize("form", [WIDE, SHORT, LONG], ids=["per metric", "per data set", "long"])
@pytest.mark.parametrize("bad", ["inf", "86.x", "%", "-inf", "8,1x", "∞", "84.0 ± x"])
def test_a_cell_that_is_no_number_is_named_with_its_place_and_the_rest_is_read(
    tmp_path: Path, form: str, bad: str
) -> None:
    got = read(tmp_path / "m.csv", form.format(f'"{bad}"'))
    line, column = LINES[form]
    (issue,) = [i for i in got.issues if i.code == "no-number"]
    assert issue.says == f"m.csv:{line}, {column}: {bad!r} is no number, so the cell stays unfilled"
    assert (issue.level, issue.file, issue.column) == ("warning", str(tmp_path / "m.csv"), column)
    (gap,) = [s for s in got.scores if s.value is None]
    assert gap.reason == f"m.csv:{line} says {bad!r}, which is no number"
    assert sum(s.value is not None for s in got.scores) == {WIDE: 3, SHORT: 3, LONG: 1}[form]


@pytest.mark.parametrize("form", [WIDE, SHORT, LONG], ids=["per metric", "per data set", "long"])
@pytest.mark.parametrize("nothing", ["-", "–", "n/a", "N/A", "nan", "", "**-**", "n.a.", "not run"])
def test_a_cell_that_says_that_nothing_was_measured_is_unfilled_and_no_fault(
    tmp_path: Path, form: str, nothing: str
) -> None:
    got = read(tmp_path / "m.csv", form.format(nothing))
    assert not [i for i in got.issues if i.code == "no-number"]
    (gap,) = [s for s in got.scores if s.value is None]
    line = LINES[form][0]
    said = f"m.csv:{line} says {nothing!r}" if nothing else f"m.csv:{line} is empty"
    assert gap.reason == f"nothing was measured: {said}"


def test_many_bad_cells_are_named_by_the_first_and_counted(tmp_path: Path) -> None:
    rows = [f"m{i},{80 + i if i < 10 else 'inf'}" for i in range(18)]
    got = read(tmp_path / "m.csv", "\n".join(["method,accuracy", *rows]))
    said = [i.says for i in got.issues if i.code == "no-number"]
    assert said[0].startswith("m.csv:12, accuracy: 'inf'") and len(said) == 6
    assert said[-1] == "m.csv: 3 more cells are no numbers and stay unfilled"


def test_rows_of_json_name_their_line_where_they_have_one(tmp_path: Path) -> None:
    rows = [{"method": "ours", "accuracy": float("inf")}, {"method": "base", "accuracy": 0.8}, {"method": "c", "accuracy": None}]  # fmt: skip
    text = json.dumps(rows[0]) + "\n\n" + json.dumps(rows[1]) + "\n" + json.dumps(rows[2]) + "\n"
    got = read(tmp_path / "m.jsonl", text)
    assert [s.reason for s in got.scores] == ["m.jsonl:1 says inf, which is no number", "", "nothing was measured: m.jsonl:4 is empty"]  # fmt: skip
    listed = read(tmp_path / "m.json", json.dumps(rows))
    assert [s.reason for s in listed.scores] == ["m.json, row 1 says inf, which is no number", "", "nothing was measured: m.json, row 3 is empty"]  # fmt: skip


def test_a_text_column_of_names_with_some_numbers_stays_text(tmp_path: Path) -> None:
    got = read(tmp_path / "m.csv", "method,version,accuracy\nllama,1.0,80\nllama,2.0,81\nllama,default,82\n")
    assert {s.system for s in got.scores} == {"llama/1.0", "llama/2.0", "llama/default"}


def test_a_table_without_any_column_of_numbers_is_still_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text("method,accuracy\nours,high\nbase,low\n")
    with pytest.raises(Exception, match="no results in it"):
        read_file(path, {})


def test_a_line_is_the_line_of_the_file_whatever_stands_before_it(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text('\nmethod,accuracy\n"two\nlines",80\n\n,\nours,81\n')
    source = Source(path)
    assert [r[0] for r in source.grid] == ["method", "two\nlines", "ours"]
    assert source.grid_lines == [2, 3, 7] and source.row_lines == [3, 7]
    md = tmp_path / "m.md"
    md.write_text("| method | accuracy |\n|---|---|\n| ours | 81 |\n\ntext\n| base | 80 |\n")
    assert Source(md).grid_lines == [1, 3, 6]


def test_a_score_points_at_the_line_and_column_that_hold_it(tmp_path: Path) -> None:
    got = read(tmp_path / "m.csv", WIDE.format("85.0"))
    assert [s.pointer for s in got.scores] == ["line 2: accuracy", "line 4: accuracy", "line 5: accuracy", "line 6: accuracy"]  # fmt: skip
    long = read(tmp_path / "l.csv", LONG.format("80.0"))
    assert [s.pointer for s in long.scores] == ["line 2: value", "line 4: value"]


def test_compare_and_evaluate_say_it(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text(WIDE.format("86.x"))
    said = "m.csv:4, accuracy: '86.x' is no number, so the cell stays unfilled"
    assert said in compare([path], ours="ours", baseline="base").warnings and said in evaluate([path]).warnings
    path.write_text(WIDE.format("-"))
    report = compare([path], ours="ours", baseline="base")
    assert not any("no number" in w for w in report.warnings)
    assert "without seed 2: nothing was measured: m.csv:4 says '-'" in report.body
    assert not [i for i in collect([("", path)]).issues if i.level == "warning"]


def test_the_sentences_are_there_in_chinese(tmp_path: Path) -> None:
    from papertrain.core.sentences import translated
    from papertrain.core.texts import language

    rows = "\n".join(f"m{i},{80 + i if i < 10 else 'inf' if i < 16 else '-' if i < 17 else ''}" for i in range(18))
    got = read(tmp_path / "m.csv", "method,accuracy\n" + rows)
    said = [i.says for i in got.issues] + [s.reason for s in got.scores if s.reason]
    token = language.set("zh")
    try:
        told = [translated(s) for s in said]
    finally:
        language.reset(token)
    assert len(said) == 14 and not [t for t in told if "number" in t or "measured" in t]


def test_runs_of_mlflow_say_the_same_of_their_cells(tmp_path: Path) -> None:
    text = "run_id,params.model,metrics.accuracy\na,ours,0.8\n\nb,base,inf\nc,third,\n"
    got = read(tmp_path / "runs.csv", text)
    assert got.format == "MLflow runs"
    assert [(s.pointer, s.reason) for s in got.scores] == [
        ("line 2: metrics.accuracy", ""),
        ("line 4: metrics.accuracy", "runs.csv:4 says 'inf', which is no number"),
        ("line 5: metrics.accuracy", "no value logged"),
    ]
    assert [i.says for i in got.issues] == [
        "runs.csv:4, metrics.accuracy: 'inf' is no number, so the cell stays unfilled"
    ]


def test_the_line_of_a_score_is_one_that_verify_follows(tmp_path: Path) -> None:
    from papertrain.evidence.verify import follow

    path = tmp_path / "m.csv"
    for score in read(path, WIDE.format("85.0")).scores:
        assert follow(path.read_bytes(), score.pointer) == score.value


@pytest.mark.parametrize(
    "text",
    ["Step,ours - eval/accuracy\n1,0.7\n\n2,NaN\n", "_step,eval/accuracy\n1,0.7\n\n2,NaN\n"],
    ids=["chart", "history"],
)
def test_a_curve_that_ends_in_nan_has_no_value_and_not_the_one_before(tmp_path: Path, text: str) -> None:
    got = read(tmp_path / "w.csv", text)
    (score,) = got.scores
    assert (score.value, score.pointer.partition(",")[0]) == (None, "line 4")
    assert score.reason == "the curve ends without a number: w.csv:4 says 'NaN'"
    (ended,) = read(tmp_path / "w.csv", text.replace("NaN", "0.8")).scores
    assert (ended.value, ended.reason) == (0.8, "")
    (blank,) = read(tmp_path / "w.csv", text.replace("NaN", "")).scores
    assert blank.value == 0.7
