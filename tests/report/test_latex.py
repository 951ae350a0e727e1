"""LaTeX from values: golden, escaped, and compiled where pdflatex is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from papertrain.core.errors import PapertrainError
from papertrain.core.results import Cell, Column, Interval, ResultTable
from papertrain.core.results import Test as Comparison
from papertrain.report import latex, markdown, study
from papertrain.report.escape import csv_cell, macro, tex
from papertrain.report.table import sheet
from papertrain.report.venue import venue, venues

PRETTY = {"accuracy": "Accuracy", "wer": "WER"}
needs_latex = pytest.mark.skipif(
    shutil.which("pdflatex") is None,
    reason="pdflatex is not installed (Debian: texlive-latex-recommended texlive-pictures)",
)
HOSTILE = ["100 % sure_thing & co #1", r"\input{/etc/passwd}", r"\write18{rm -rf /}", "$x^2$ ~ {a}", "中文模型", "עברית", "emoji 🤖", "=cmd|' /C calc'!A0", "tab\tnew\nline", "a--b---c",
           "\u202egnp.exe", "ąęłß Ð þ", "^^41", "[x]", "\"quoted\" 'name'", "%", "<b>bold</b>", "α-β ± ×"]  # fmt: skip


def table() -> ResultTable:
    columns = (
        Column(dataset="reviews", metric="accuracy", unit="fraction"),
        Column(dataset="speech", metric="wer", higher_is_better=False, unit="percent", decimals=2),
    )
    cells = (
        (
            Cell(
                value=0.7,
                std=None,
                n_seeds=1,
                rank=3,
                evidence="E1",
                status="verified",
                ci=Interval(low=0.67, high=0.73),
            ),
            Cell(value=11.25, n_seeds=1, rank=1, evidence="E2"),
        ),
        (
            Cell(value=0.8172, std=0.004, n_seeds=3, rank=1, evidence="E3", status="verified"),
            Cell(value=11.25, n_seeds=1, rank=1, evidence="E4"),
        ),
        (Cell(value=0.81, n_seeds=1, rank=2, evidence="E5"), Cell(value=None, status="missing", reason="not run yet")),
    )
    return ResultTable(
        rows=("base_line", "Ours", "B & C"), columns=columns, cells=cells, ours="Ours", baseline="base_line"
    )


def comparisons() -> list[Comparison]:
    common = {
        "unit": "example",
        "n": 1000,
        "adjustment": "holm",
        "details": {"role": "primary", "family": 2, "alpha": 0.05},
        "test": "mcnemar-exact",
    }
    return [
        Comparison(
            column=0,
            a="Ours",
            b="base_line",
            difference=0.1172,
            p=1e-9,
            p_adjusted=2e-9,
            significant=True,
            ci=Interval(low=0.09, high=0.15),
            **common,
        ),
        Comparison(
            column=0, a="Ours", b="B & C", difference=0.0072, p=0.4, p_adjusted=0.4, significant=False, **common
        ),
    ]


def test_the_table_is_the_golden_one() -> None:
    text = latex.main_table(sheet(table(), comparisons(), PRETTY), title="Main results.")
    assert text == (Path(__file__).parent / "golden/main.tex").read_text("utf-8")


def test_marks() -> None:
    s = sheet(table(), comparisons(), PRETTY)
    assert [[c.mark for c in row] for row in s.cells] == [["", "best"], ["best", "best"], ["second", ""]]
    assert [[c.sign for c in row] for row in s.cells] == [["dagger", ""], ["", ""], ["circle", ""]]
    assert s.cells[2][1].text == "--" and s.notes == ("not run yet",)


def test_the_caption_says_what_the_marks_mean() -> None:
    text = latex.main_table(sheet(table(), comparisons(), PRETTY), title="Main results.")
    caption = re.search(r"\\caption\{(.*)\}", text)
    assert caption is not None
    for said in (
        "Bold: best",
        "underlined: second best",
        r"$\pm$ is the sample standard deviation over 3 seeds",
        r"$^{\dagger}$: differs significantly from Ours",
        "exact McNemar",
        "Holm",
    ):
        assert said in caption[1]


def test_intervals_instead_of_stars() -> None:
    text = latex.main_table(sheet(table(), comparisons(), PRETTY, style="intervals"), title="Main results.")
    assert "[67.0, 73.0]" in text and "dagger" not in text and r"\pm" not in text


def test_one_row_has_no_best() -> None:
    t = table()
    one = ResultTable(rows=t.rows[:1], columns=t.columns, cells=t.cells[:1])
    assert "textbf" not in latex.main_table(sheet(one, [], PRETTY), title="x")


def test_the_caption_stands_where_the_venue_wants_it() -> None:
    for name, above in (("neurips", True), ("acl", False), ("aaai", False), ("cvpr", True)):
        text = latex.main_table(sheet(table(), comparisons(), PRETTY), title="x", style=name)
        assert (text.index(r"\caption") < text.index(r"\begin{tabular}")) is above
        assert "resizebox" not in text
    with pytest.raises(PapertrainError, match="no venue style"):
        venue("nips3000")


def test_a_wide_table_spans_two_columns_or_turns() -> None:
    columns = tuple(Column(dataset=f"data set {i}", metric="accuracy", unit="fraction") for i in range(12))
    wide = ResultTable(
        rows=("a", "b"),
        columns=columns,
        cells=tuple(
            tuple(Cell(value=0.5 + i / 100 + r / 50, n_seeds=1, rank=2 - r) for i in range(12)) for r in range(2)
        ),
    )
    s = sheet(wide, [], PRETTY)
    assert latex.layout(s, venue("acl"))[2] is True
    assert r"\begin{tabular}{@{}lrr@{}}" in latex.main_table(s, title="x", style="acl")


def test_numbers_are_macros_and_missing_ones_have_none() -> None:
    text = latex.numbers(table(), comparisons())
    assert r"\newcommand{\ptOursReviewsAccuracy}{81.7}% E3 verified 0.8172" in text
    assert r"\newcommand{\ptOursVsBaseLineReviewsAccuracyDiff}{+11.7}" in text and r"AccuracyP}{<0.001}" in text
    assert "B & C, speech, wer: missing (not run yet)" in text and "BCSpeechWer" not in text
    names = re.findall(r"\\newcommand\{\\(\w+)\}", text)
    assert len(names) == len(set(names)) and all(n.isalpha() for n in names)


def test_macro_names_are_letters_only() -> None:
    assert macro("Qwen2.5-7B", "SST-2", "f1") == "QwenTwoFiveSevenBSSTTwoFOne" and macro("中文") == "Number"


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_of_a_name_is_run(name: str) -> None:
    text = tex(name)
    assert not re.search(
        r"(?<!\\)[%&#_$](?!\^|\\)", re.sub(r"\$\\\w+\$|\$\^\{\\\w+\}\$", "", text).replace(r"\ptuni", "")
    )
    assert r"\input" not in text and r"\write" not in text and "\u202e" not in text


@pytest.mark.parametrize(
    ("cell", "safe"),
    [("=1+1", "'=1+1"), ("+x", "'+x"), ("@x", "'@x"), ("-x", "'-x"), ("-1.5", "-1.5"), ("plain", "plain")],
)
def test_spreadsheets_run_no_name(cell: str, safe: str) -> None:
    assert csv_cell(cell) == safe


def test_markdown_and_csv_hold_the_same_values() -> None:
    s = sheet(table(), comparisons(), PRETTY)
    text = markdown.table(s, "Main results.")
    assert "| Ours | **81.7 ± 0.4** | **11.25** |" in text and "– (a)" in text and "(a) not run yet" in text
    rows = markdown.long_csv(table()).splitlines()
    assert rows[3].startswith("Ours,reviews,accuracy,0.8172,0.004,3,") and rows[6].endswith(",missing,,not run yet")


def test_the_terminal_view_is_at_most_100_wide() -> None:
    columns = tuple(
        Column(dataset=f"a rather long data set name {i}", metric="accuracy", unit="fraction") for i in range(9)
    )
    wide = ResultTable(
        rows=("a", "b 中文"),
        columns=columns,
        cells=tuple(tuple(Cell(value=0.5, n_seeds=1, rank=1) for _ in range(9)) for _ in range(2)),
    )
    assert max(map(markdown.width, markdown.terminal(sheet(wide, [], PRETTY)).splitlines())) <= 100


def test_every_venue_names_its_source_and_a_sensible_size() -> None:
    for v in venues().values():
        assert (
            v.source
            and 200 < v.column_pt <= v.text_pt < 600
            and v.caption in ("above", "below")
            and v.floor_pt >= 8
            and v.figure_pt >= 8
        )


def compile_tex(folder: Path, body: str, preamble: str = "", document: str = r"\documentclass{article}") -> str:
    text = rf"{document}\usepackage[utf8]{{inputenc}}\usepackage[T1]{{fontenc}}\usepackage{{booktabs,array}}{preamble}\begin{{document}}{body}\end{{document}}"
    (folder / "doc.tex").write_text(text, "utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "doc.tex"],
        cwd=folder,
        capture_output=True,
        timeout=120,
    )
    log = done.stdout.decode("utf-8", "replace")
    assert done.returncode == 0, log[-1500:]
    return log


@pytest.mark.latex
@needs_latex
@pytest.mark.parametrize("document", [r"\documentclass{article}", r"\documentclass[twocolumn]{article}"])
def test_the_table_compiles_without_overfull_boxes(tmp_path: Path, document: str) -> None:
    style = "acl" if "twocolumn" in document else ""
    (tmp_path / "main.tex").write_text(
        latex.main_table(sheet(table(), comparisons(), PRETTY), title="Main results.", style=style), "utf-8"
    )
    (tmp_path / "numbers.tex").write_text(latex.numbers(table(), comparisons()), "utf-8")
    log = compile_tex(
        tmp_path,
        r"\input{numbers}\ptOursReviewsAccuracy{}, $p \ptOursVsBaseLineReviewsAccuracyP$\input{main}",
        document=document,
    )
    assert "Overfull" not in log


@pytest.mark.latex
@needs_latex
@pytest.mark.parametrize("style", ["", "acl"])
def test_the_tables_of_the_appendix_compile_without_overfull_boxes(tmp_path: Path, style: str) -> None:
    long = "A method with a rather long name that says all"
    rows = [
        [long, "H200", "4", "3", "1.53", "6.1", "5", "3.67", "14.7"],
        ["base", "H200", "1", "3", "0.25", "0.25", "3", "0.75", "0.75"],
    ]
    files = {
        "compute": study.compute(rows, ["runs/a/record.json"], ["base: one start left no time and is not in it."], style=style),
        "data": study.datasets({f"{long}, train": {"rows": "1,000,000", "examples": "1,000,000", "tokens": "1,234,567,890", "trained tokens": "234,567,890", "truncated": "12", "sha256": "abcdef01"}}, style=style),
        "hyper": study.hyperparameters({"ours": {"learning_rate": "2.0e-4", "tuning trials": "3"}, "base": {"learning_rate": "1.0e-4", "tuning trials": "3"}}, style=style),
        "setup": study.paragraph(["ours: 100 % of the data_set & more.", "It uses AdamW."]),
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / f"{name}.tex").write_text(text, "utf-8")
    body = "".join(rf"\input{{{name}}}" for name in files)
    assert "Overfull" not in compile_tex(
        tmp_path, body, document=r"\documentclass[twocolumn]{article}" if style else r"\documentclass{article}"
    )


@pytest.mark.latex
@needs_latex
def test_hostile_names_compile_and_show_up(tmp_path: Path) -> None:
    rows = tuple(HOSTILE)
    cells = tuple((Cell(value=0.5, n_seeds=1, rank=1, evidence=name),) for name in rows)
    t = ResultTable(rows=rows, columns=(Column(dataset=HOSTILE[0], metric="accuracy", unit="fraction"),), cells=cells)
    (tmp_path / "main.tex").write_text(
        latex.main_table(sheet(t, [], {"accuracy": HOSTILE[1]}), title=HOSTILE[4]), "utf-8"
    )
    (tmp_path / "hyper.tex").write_text(study.hyperparameters({name: {"a_b": name} for name in HOSTILE[:4]}), "utf-8")
    (tmp_path / "data.tex").write_text(
        study.datasets({name: {"rows": "1,000", "sha256": "ab"} for name in HOSTILE[:4]}), "utf-8"
    )
    compile_tex(tmp_path, r"\input{main}\input{hyper}\input{data}")
    if shutil.which("pdftotext"):
        text = subprocess.run(
            ["pdftotext", "-layout", "doc.pdf", "-"], cwd=tmp_path, capture_output=True, text=True, timeout=60
        ).stdout
        assert (
            "100 % sure_thing & co #1" in text
            and r"\input{/etc/passwd}" in text
            and "U+4E2D" in text
            and "root:" not in text
        )
