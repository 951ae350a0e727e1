"""`--style siunitx`: numbers below one another at the point, with the marks that the plain table has; measured in the PDF."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from papertrain.core.results import Cell, Column, Interval, ResultTable
from papertrain.core.results import Test as Comparison
from papertrain.report import latex
from papertrain.report.siunitx import cell, shape
from papertrain.report.table import Shown, sheet
from papertrain.results.manuscript.numbers import numbers
from papertrain.results.manuscript.tex import page_of

needs_siunitx = pytest.mark.skipif(
    shutil.which("pdflatex") is None
    or shutil.which("pdftotext") is None
    or not subprocess.run(["kpsewhich", "siunitx.sty"], capture_output=True).stdout,
    reason="pdflatex, siunitx or pdftotext is not installed (Debian: texlive-science poppler-utils)",
)
PRETTY = {"accuracy": "Accuracy", "ppl": "PPL"}
ROWS = ("nine", "best", "second", "gap")


def one(value: float | None, rank: int | None, std: float | None = None, n: int = 1, e: str = "E1") -> Cell:
    reason = None if value is not None else "not run yet"
    return Cell(value=value, std=std, n_seeds=n, rank=rank, evidence=e, reason=reason, ci=Interval(low=0.5, high=0.8))


def table() -> ResultTable:
    columns = (
        Column(dataset="reviews", metric="accuracy", unit="fraction"),
        Column(dataset="speech", metric="ppl", higher_is_better=False, unit="number", decimals=2),
    )
    cells = (
        (one(0.095, 3, 0.004, 3, "E1"), one(1234.5, 3, e="E2")),
        (one(0.817, 1, 0.124, 3, "E3"), one(2.25, 1, e="E4")),
        (one(0.805, 2, 0.004, 3, "E5"), one(-13.75, 2, e="E6")),
        (one(None, None), one(99.0, 3, e="E8")),
    )
    return ResultTable(rows=ROWS, columns=columns, cells=cells, ours="best", baseline="nine")


def compared() -> list[Comparison]:
    details = {"role": "primary", "family": 2, "alpha": 0.05}
    common = {"unit": "seed", "n": 3, "adjustment": "holm", "details": details, "test": "paired-t"}
    return [
        Comparison(column=0, a="best", b="nine", difference=0.7, p=1e-9, p_adjusted=2e-9, significant=True, **common),
        Comparison(column=1, a="best", b="second", difference=0.1, p=0.4, p_adjusted=0.4, significant=False, **common),
    ]


def made(style: str = "stars", venue: str = "") -> str:
    return latex.main_table(sheet(table(), compared(), PRETTY, style=style), title="T.", style=venue, aligned=True)


def test_each_column_reserves_what_its_cells_need() -> None:
    text = made()
    assert r"S[table-format=2.1{\,$\pm$\,\phantom{0}0.4$^{\dagger}$}]" in text
    assert r"S[table-format=-4.2{$^{\circ}$}]" in text
    assert (
        r"\usepackage{booktabs,siunitx}" in text.splitlines()[0] and r"\sisetup{mode=text,detect-weight=true}" in text
    )


def test_marks_stand_beside_the_number_and_a_gap_is_text() -> None:
    text = made()
    assert r"nine & 9.5{\,$\pm$\,\phantom{0}0.4$^{\dagger}$} & 1234.50 \\" in text
    assert r"best & \bfseries 81.7{\mdseries\,$\pm$\,12.4} & \bfseries 2.25 \\" in text
    assert r"second & 80.5{\ptsecond{80.5}\,$\pm$\,\phantom{0}0.4} & -13.75{\ptsecond{-13.75}$^{\circ}$} \\" in text
    assert r"gap & {--$^{a}$} & 99.00 \\" in text
    assert r"Method & {Accuracy (\%) $\uparrow$} & {PPL $\downarrow$} \\" in text
    assert r"\textbf" not in text and r"\underline{8" not in text


def test_every_cell_keeps_its_provenance() -> None:
    plain = latex.main_table(sheet(table(), compared(), PRETTY), title="T.")
    said = [line for line in plain.splitlines() if line.startswith("%   ")]
    assert said == [line for line in made().splitlines() if line.startswith("%   ")] and len(said) == 8


def test_intervals_stand_behind_the_number() -> None:
    assert r"9.5{\,[50.0, 80.0]}" in made("intervals") and "dagger" not in made("intervals")


def test_the_manuscript_reader_sees_the_same_numbers_as_in_the_plain_table() -> None:
    def seen(text: str) -> list[tuple[float, str, str]]:
        page = page_of("m.tex", f"\\begin{{document}}\n{text}\\end{{document}}")
        return [(n.value, n.kind, n.place.evidence) for n in numbers(page) if n.place is not None]

    for style in ("stars", "intervals"):
        plain = latex.main_table(sheet(table(), compared(), PRETTY, style=style), title="T.")
        assert seen(made(style)) == seen(plain) and len(seen(plain)) >= 10


def test_a_column_of_whole_numbers_and_one_of_gaps_have_a_format_too() -> None:
    assert shape([(Shown(text="7"), ""), (Shown(text="120"), "")]).column == "S[table-format=3]"
    gap = Shown(text="--", note=0)
    assert shape([(gap, "$^{a}$")]).column == "S[table-format=1]"
    assert cell(gap, "$^{a}$", shape([(gap, "$^{a}$")])) == "{--$^{a}$}"


def words(pdf: Path) -> list[tuple[str, float, float]]:
    """(word, left, right) in points."""
    out = subprocess.run(["pdftotext", "-bbox", str(pdf), "-"], capture_output=True, text=True, timeout=60).stdout
    found = re.findall(r'xMin="([\d.]+)".*?xMax="([\d.]+)".*?>([^<]+)</word>', out)
    return [(text, float(left), float(right)) for left, right, text in found]


def compiled(folder: Path, document: str, fonts: str, body: str) -> list[tuple[str, float, float]]:
    text = rf"{document}\usepackage[utf8]{{inputenc}}\usepackage[T1]{{fontenc}}{fonts}\usepackage{{booktabs,siunitx}}\begin{{document}}{body}\end{{document}}"
    (folder / "doc.tex").write_text(text, "utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "doc.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=240)
    log = done.stdout.decode("utf-8", "replace")
    assert done.returncode == 0, log[-1500:]
    assert "Overfull" not in log
    return words(folder / "doc.pdf")


@pytest.mark.latex
@needs_siunitx
@pytest.mark.parametrize("style", ["stars", "intervals"])
@pytest.mark.parametrize("document", [r"\documentclass{article}", r"\documentclass[twocolumn]{article}"])
def test_the_points_stand_below_one_another(tmp_path: Path, document: str, style: str) -> None:
    """In Times, where a bold digit is as wide as another one, as in the venues' classes."""
    venue = "acl" if "twocolumn" in document else ""
    found = compiled(tmp_path, document, r"\usepackage{times}", made(style, venue))
    for numbers_, decimals in ((("9.5", "81.7", "80.5"), 1), (("1234.50", "2.25", "99.00", "−13.75", "-13.75"), 2)):
        right = [x for text, _, x in found if text in numbers_]
        assert len(right) == 3 + (decimals == 2) and max(right) - min(right) < 0.05, (numbers_, right)
    if style == "stars":
        deviations = [x for text, _, x in found if text in ("0.4", "12.4")]
        assert len(deviations) == 3 and max(deviations) - min(deviations) < 0.05


@pytest.mark.latex
@needs_siunitx
def test_points_of_different_length_align_when_methods_are_columns(tmp_path: Path) -> None:
    """Rows are metrics then: one decimal above two. A digit and a point have one width each, so that both say where it is."""
    columns = tuple(Column(dataset=f"a data set with a name {i}", metric="accuracy", unit="fraction", decimals=1 + i % 2) for i in range(12))  # fmt: skip
    cells = tuple(tuple(Cell(value=(5 + 7 * i) / 100, n_seeds=1, rank=2 - r) for i in range(12)) for r in range(2))
    s = sheet(ResultTable(rows=("a", "b"), columns=columns, cells=cells), [], PRETTY)
    text = latex.main_table(s, title="T.", style="acl", aligned=True)
    assert text.count("S[table-format=2.2]") == 2
    found = compiled(tmp_path, r"\documentclass[twocolumn]{article}", r"\usepackage{times}", text)
    digits = [(w, left, right) for w, left, right in found if re.fullmatch(r"\d+\.\d+", w)]
    assert len(digits) == 24
    wide = {w: right - left for w, left, right in digits}
    digit = wide["12.00"] - wide["5.0"] if "12.00" in wide else 0.0
    digit /= 2  # one more before the point and one more behind it
    points = sorted(left + digit * len(w.partition(".")[0]) for w, left, _ in digits)
    assert max(points[:12]) - min(points[:12]) < 0.05 and max(points[12:]) - min(points[12:]) < 0.05


@pytest.mark.latex
@needs_siunitx
def test_in_computer_modern_a_bold_number_stays_within_two_points_since_its_digits_are_wider(tmp_path: Path) -> None:
    found = compiled(tmp_path, r"\documentclass{article}", "", made())
    at = {text: (left, right) for text, left, right in found}
    plain = (at["80.5"][1] - at["80.5"][0]) / 3.556  # three digits of 0.5 em and a point of 0.278 em
    bold = (at["81.7"][1] - at["81.7"][0]) / 3.556
    assert abs((at["80.5"][0] + 2 * plain) - (at["81.7"][0] + 2 * bold)) < 2
