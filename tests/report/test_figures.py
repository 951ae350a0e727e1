"""Figures: drawn by the script that is handed over, the same bytes twice, fonts embedded, TikZ that compiles."""

from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib.colors
import msgspec
import numpy as np
import pytest

from papertrain.core.discover import discover
from papertrain.report import figures
from papertrain.report.figures import bars, cd, confusion, curves, dots, heatmap, scaling, scatter, seeds
from papertrain.report.figures._figure import OKABE_ITO, Drawing, Files, draw, script, to_csv

KNOWN = discover(figures, "FIGURE")
ODD = "100 % a_b & $c {d} \\e #f [g]"
DRAWINGS: dict[str, Drawing] = {
    "bars": Drawing(name="main", title="Main", header=bars.HEADER, width=3.3, height=2.2, options={"ylabel": "Accuracy (%)", "rotate": 30, "legend_columns": 2}, rows=(
        ("ours", "reviews", 81.7, 79.0, 84.0, "wilson", "E1"), (ODD, "reviews", 70.0, 67.0, 73.0, "wilson", "E2"), ("ours", "snips", 60.0, None, None, "", "E3"), (ODD, "snips", None, None, None, "", ""))),
    "dots": Drawing(name="differences", title="Differences", header=dots.HEADER, width=3.3, height=2.0, options={"xlabel": "difference (points)", "zero": True, "legend_columns": 2}, rows=(
        ("ours - base", "reviews", 11.7, 8.7, 14.7, "mcnemar-exact", ""), ("ours - base", ODD, -1.0, -3.0, 1.0, "delong", ""))),
    "curves": Drawing(name="curves", title="Curves", header=curves.HEADER, width=5.0, height=2.2, options={"log": {"train_loss": True, "eval_loss": False}}, rows=tuple(
        (m, s, sig, step, 1.0 / (step + 1) + s / 100, "runs/x") for m in ("ours", ODD) for s in (1, 2) for sig in ("train_loss", "eval_loss") for step in range(5))),
    "confusion": Drawing(name="confusion", title="Confusion", header=confusion.HEADER, width=3.3, height=2.8, rows=tuple(
        (g, p, 10 if g == p else 3) for g in ("neg", "neutral", ODD) for p in ("neg", "neutral", ODD))),
    "seeds": Drawing(name="seeds", title="Seeds", header=seeds.HEADER, width=3.3, height=2.2, rows=tuple(
        (m, "Accuracy (%)", s, 80 + s + k, "E1") for k, m in enumerate(("ours", ODD, "third")) for s in (1, 2, 3))),
    "heatmap": Drawing(name="heatmap", title="Heat map", header=heatmap.HEADER, width=4.5, height=2.2, rows=tuple(
        (m, g, 0.5 + k / 10, f"{50 + 10 * k}.0" if m != ODD else "", k / 2 if m != ODD else None, "E1") for k, m in enumerate(("full", "no a", ODD)) for g in ("x (%)", "y_z (%)"))),
    "scatter": Drawing(name="cost", title="Cost", header=scatter.HEADER, width=3.3, height=2.4, options={"xlabel": "GPU-hours", "ylabel": "Accuracy (%)", "log": True, "higher": True, "legend_columns": 2}, rows=(
        ("ours", 12.5, 81.7, 79.0, 84.0, "E1", "runs"), (ODD, 0.4, 70.0, None, None, "E2", "runs"), ("third", 3.0, 66.0, 60.0, 70.0, "E3", "runs"), ("hole", None, 50.0, None, None, "E4", ""))),
    "scaling": Drawing(name="scaling", title="Scaling", header=scaling.HEADER, width=3.3, height=2.4, options={"xlabel": "parameters", "ylabel": "Accuracy (%)", "logy": False, "legend_columns": 2}, rows=(
        ("pythia", "pythia-70m", 7e7, 30.0, 28.0, 32.0, "E1"), ("pythia", "pythia-410m", 4.1e8, 41.0, None, None, "E2"), ("pythia", "pythia-1.4b", 1.4e9, 50.0, 48.0, 52.0, "E3"), (ODD, ODD, 1e9, 44.0, None, None, "E4"))),
    "cd": Drawing(name="cd", title="Ranks", header=cd.HEADER, width=4.5, height=1.9, options={"cd": 1.2, "cliques": [["a", "b"], ["b", ODD]]}, rows=(
        ("a", 1.2, 12), ("b", 2.1, 12), (ODD, 3.0, 12), ("d", 3.7, 12))),
}  # fmt: skip


@pytest.fixture(scope="module")
def drawn() -> dict[str, Files]:
    return {kind: draw(KNOWN[kind], d) for kind, d in DRAWINGS.items()}


def test_every_kind_has_a_sample() -> None:
    assert set(KNOWN) == set(DRAWINGS)


@pytest.mark.parametrize("kind", list(DRAWINGS))
def test_five_files_each(kind: str, drawn: dict[str, Files]) -> None:
    name = DRAWINGS[kind].name
    assert set(drawn[kind].texts) == {f"figures/{name}.csv", f"figures/{name}.py", f"figures/{name}.tikz.tex"}
    pdf, png = drawn[kind].binaries[f"figures/{name}.pdf"], drawn[kind].binaries[f"figures/{name}.png"]
    assert pdf.startswith(b"%PDF") and png.startswith(b"\x89PNG") and len(png) > 5000
    assert b"/Type3" not in pdf and b"CreationDate" not in pdf and b"/CIDFontType2" in pdf


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bars", "confusion"])
def test_the_same_data_give_the_same_bytes(kind: str, drawn: dict[str, Files]) -> None:
    assert draw(KNOWN[kind], DRAWINGS[kind]) == drawn[kind]


def test_the_csv_holds_the_values_unrounded() -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(DRAWINGS["curves"]))))
    assert float(rows[3]["value"]) == 1.0 / 4 + 1 / 100


@pytest.mark.slow
def test_the_script_runs_by_itself_and_draws_the_same_picture(tmp_path: Path, drawn: dict[str, Files]) -> None:
    for name in ("bars", "cd"):
        for path, text in drawn[name].texts.items():
            (tmp_path / Path(path).name).write_text(text, "utf-8")
        stem = DRAWINGS[name].name
        source = (tmp_path / f"{stem}.py").read_text()
        assert "papertrain" not in re.sub(r'"""[\s\S]*?"""', "", source, count=1)  # needs matplotlib only
        subprocess.run([sys.executable, "-I", f"{stem}.py"], cwd=tmp_path, check=True, capture_output=True, timeout=60)
        assert (tmp_path / f"{stem}.pdf").read_bytes() == drawn[name].binaries[f"figures/{stem}.pdf"]
        assert (tmp_path / f"{stem}.png").read_bytes() == drawn[name].binaries[f"figures/{stem}.png"]


def test_text_is_at_least_8_points_and_colours_are_those_of_okabe_and_ito(drawn: dict[str, Files]) -> None:
    for kind, d in DRAWINGS.items():
        text = drawn[kind].texts[f"figures/{d.name}.py"]
        sizes = [
            float(x)
            for x in re.findall(r'"(?:font\.size|\w+\.labelsize|axes\.titlesize|legend\.fontsize)": ([\d.]+)', text)
        ]
        assert sizes and min(sizes) >= 8
        assert "fontsize=" not in text and all(c in text for c in OKABE_ITO)


def test_no_name_becomes_code_or_changes_in_the_script() -> None:
    import msgspec

    evil = '"""\nraise SystemExit("ran")\n"""\\'
    d = msgspec.structs.replace(
        DRAWINGS["cd"],
        title=evil,
        rows=(("true", 1.0, 5), ("null {x}", 2.0, 5)),
        options={"cd": 1.5, "cliques": [["true", "null {x}"]]},
    )
    files = draw(KNOWN["cd"], d)
    assert "'true'" in files.texts["figures/cd.py"] and files.binaries["figures/cd.pdf"].startswith(b"%PDF")


def test_a_long_noisy_curve_has_a_running_mean_that_is_named_and_hides_no_spike() -> None:
    rows = [("ours", s, "train_loss", step, 9.0 if step == 70 else 1.0 + step % 2 / 10, "runs/x") for s in (1, 2, 3) for step in range(200)]  # fmt: skip
    d = Drawing(name="c", title="C", header=curves.HEADER, width=5.0, height=2.2, options={"log": {}}, rows=tuple(rows))
    space: dict[str, Any] = {"__name__": "figure", "__file__": "c.py"}
    exec(script(curves.FIGURE, d), space)
    (axes,) = space["draw"](list(csv.DictReader(io.StringIO(to_csv(d))))).axes
    *raw, mean = ([float(y) for y in line.get_ydata()] for line in axes.lines)
    space["plt"].close("all")
    assert len(raw) == 3 and all(max(y) == 9.0 for y in raw)
    assert mean[:5] == pytest.approx([np.mean(raw[0][: 6 + i]) for i in range(5)])
    assert mean[70] == pytest.approx(np.mean(raw[0][65:76])) and axes.get_xlabel() == "step (mean over 11)"


def test_a_method_that_has_not_run_takes_no_room_and_a_missing_cell_is_marked() -> None:
    rows = (("ours", "a", 80.0, 79.0, 81.0, "", ""), ("frozen", "a", None, None, None, "", ""), ("base", "a", 70.0, 69.0, 71.0, "", ""),
            ("ours", "b", 60.0, 59.0, 61.0, "", ""), ("frozen", "b", None, None, None, "", ""), ("base", "b", None, None, None, "", ""))  # fmt: skip
    d = Drawing(name="m", title="M", header=bars.HEADER, width=3.3, height=2.2, options={"ylabel": "%", "rotate": 0, "legend_columns": 2}, rows=rows)  # fmt: skip
    space: dict[str, Any] = {"__name__": "figure", "__file__": "m.py"}
    exec(script(bars.FIGURE, d), space)
    figure = space["draw"](list(csv.DictReader(io.StringIO(to_csv(d)))))
    (axes,) = figure.axes
    drawn = sorted((p.get_x() + p.get_width() / 2, p.get_facecolor()) for p in axes.patches)
    marks = [t.get_text() for t in axes.texts]
    space["plt"].close("all")
    assert [x for x, _ in drawn][:2] == pytest.approx([-0.2, 0.2]) and marks == ["\u2013"]
    assert drawn[1][1] == pytest.approx(matplotlib.colors.to_rgba(OKABE_ITO[2])), "the colour of its place in the table"
    assert r"\addlegendentry{frozen}" not in bars.tikz(d)


def test_a_cut_axis_is_said_and_bars_start_at_zero(drawn: dict[str, Files]) -> None:
    assert "set_ylim(bottom=min(0" in drawn["bars"].texts["figures/main.py"]
    assert "ymin=0" in drawn["bars"].texts["figures/main.tikz.tex"]


@pytest.mark.latex
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed (Debian: texlive-pictures)")
def test_every_tikz_figure_compiles(tmp_path: Path, drawn: dict[str, Files]) -> None:
    body = ""
    for files in drawn.values():
        for path, text in files.texts.items():
            if path.endswith(".tikz.tex"):
                (tmp_path / Path(path).name).write_text(text, "utf-8")
                body += rf"\noindent\input{{{Path(path).name}}}\par "
    doc = rf"\documentclass{{article}}\usepackage[utf8]{{inputenc}}\usepackage{{pgfplots}}\pgfplotsset{{compat=1.18}}\begin{{document}}{body}\end{{document}}"
    (tmp_path / "doc.tex").write_text(doc, "utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "doc.tex"],
        cwd=tmp_path,
        capture_output=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stdout.decode("utf-8", "replace")[-1500:]


@pytest.mark.skipif(shutil.which("pdffonts") is None, reason="pdffonts is not installed (Debian: poppler-utils)")
def test_fonts_are_embedded_truetype(tmp_path: Path, drawn: dict[str, Files]) -> None:
    (tmp_path / "x.pdf").write_bytes(drawn["bars"].binaries["figures/main.pdf"])
    lines = subprocess.run(
        ["pdffonts", "x.pdf"], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=30
    ).stdout.splitlines()[2:]
    assert lines and all("TrueType" in line and " yes yes yes" in line for line in lines)


def _has_chinese_font() -> bool:
    found = subprocess.run(["fc-list", ":lang=zh", "family"], capture_output=True, text=True, check=False).stdout if shutil.which("fc-list") else ""  # fmt: skip
    return "Noto Serif CJK" in found


@pytest.mark.skipif(not _has_chinese_font(), reason="no Chinese font is installed (Debian: fonts-noto-cjk)")
def test_chinese_names_are_drawn_with_a_font_of_this_machine(tmp_path: Path) -> None:
    d = msgspec.structs.replace(
        DRAWINGS["confusion"], rows=tuple((g, p, 1) for g in ("好评", "差评") for p in ("好评", "差评"))
    )
    files = draw(confusion.FIGURE, d)
    assert files.boxes == "" and "xeCJK" in next(t for n, t in files.texts.items() if n.endswith(".tikz.tex"))
    if shutil.which("pdftotext"):
        (tmp_path / "x.pdf").write_bytes(next(b for n, b in files.binaries.items() if n.endswith(".pdf")))
        words = subprocess.run(["pdftotext", str(tmp_path / "x.pdf"), "-"], capture_output=True, text=True, check=True).stdout  # fmt: skip
        assert "好评" in words and "差评" in words


def test_a_figure_without_such_names_looks_for_no_font() -> None:
    files = draw(confusion.FIGURE, DRAWINGS["confusion"])
    assert not any("findSystemFonts" in t or "xeCJK" in t for t in files.texts.values())


def test_characters_that_no_font_has_are_named() -> None:
    d = msgspec.structs.replace(
        DRAWINGS["confusion"], rows=tuple((g, p, 1) for g in ("\U00012000", "b") for p in ("\U00012000", "b"))
    )
    assert draw(confusion.FIGURE, d).boxes == "\U00012000"
    assert draw(confusion.FIGURE, DRAWINGS["confusion"]).boxes == ""
