"""The walk: `demo --fast` in a real training environment, and what it must leave behind, recomputed by independent code."""

from __future__ import annotations

import csv
import json
import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXE = str(Path(sys.executable).with_name("papertrain"))
TRAIN = ROOT / ".envs" / "train"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.train,
    pytest.mark.skipif(not (TRAIN / "bin/python").exists(), reason="no training environment: `make train`"),
]


def run(*args: object, timeout: float = 900) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [EXE, *map(str, args)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        env={**os.environ, "NO_COLOR": "1"},
    )


def last_words(work: Path) -> str:
    """What the runs themselves said, and the room that is left: a machine that is not at hand fails in its own ways."""
    logs = sorted(work.glob("runs/*/*.log"), key=lambda p: p.stat().st_mtime)[-2:]
    free = shutil.disk_usage(work if work.exists() else work.parent).free
    return (
        "".join(f"\n== {p.name}\n{p.read_text(errors='replace')[-2500:]}" for p in logs) + f"\n{free / 1e9:.1f} GB free"
    )


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict, str]:  # type: ignore[type-arg]
    work = tmp_path_factory.mktemp("walk") / "demo"
    done = run("demo", "--fast", "-o", work, "--env", TRAIN, "--json")
    assert done.returncode == 0, done.stdout[-1500:] + done.stderr[-1500:] + last_words(work)
    return work, json.loads(done.stdout), done.stderr


def predictions(work: Path, run_id: str) -> list[tuple[str, str]]:
    with (work / "runs" / run_id / "predictions.csv").open(newline="") as f:
        return [(row["label"], row["prediction"]) for row in csv.DictReader(f)]


def accuracy(pairs: list[tuple[str, str]]) -> float:
    return sum(a == b for a, b in pairs) / len(pairs)


def macro_f1(pairs: list[tuple[str, str]]) -> float:
    scores = []
    for name in sorted({a for a, _ in pairs}):
        hit = sum(a == b == name for a, b in pairs)
        wrong, left = sum(b == name != a for a, b in pairs), sum(a == name != b for a, b in pairs)
        scores.append(2 * hit / (2 * hit + wrong + left))
    return sum(scores) / len(scores)


def latex_numbers(text: str, label: str) -> list[float]:
    line = next(line for line in text.splitlines() if label in line and "&" in line)
    return [float(x) for x in re.findall(r"(?<![\d.])(\d{1,3}\.\d+)(?![\d.])", line.split("%")[0])]


def test_the_numbers_of_the_latex_table_are_those_of_the_prediction_files(walked) -> None:  # type: ignore[no-untyped-def]
    work, _, _ = walked
    tex = (work / "tables/main.tex").read_text()
    for run_id, label in (
        ("minilm.reviews.1", "MiniLM, fine-tuned"),
        ("tfidf.reviews.1", "TF-IDF + logistic regression"),
    ):
        pairs = predictions(work, run_id)
        assert len(pairs) == 200
        shown = latex_numbers(tex, label)
        assert shown[:2] == pytest.approx([100 * accuracy(pairs), 100 * macro_f1(pairs)], abs=0.0501)


def test_the_test_in_the_answer_is_the_exact_mcnemar_of_the_files(walked) -> None:  # type: ignore[no-untyped-def]
    work, answer, _ = walked
    ours, base = predictions(work, "minilm.reviews.1"), predictions(work, "tfidf.reviews.1")
    b = sum(x == y and u != v for (x, y), (u, v) in zip(ours, base))
    c = sum(x != y and u == v for (x, y), (u, v) in zip(ours, base))
    p = min(1.0, 2 * sum(math.comb(b + c, k) for k in range(min(b, c) + 1)) / 2 ** (b + c))
    told = next(t for t in answer["data"]["tests"] if t.get("test") == "mcnemar-exact" and t.get("p") is not None)
    assert told["p"] == pytest.approx(p, rel=1e-9)
    assert told["difference"] == pytest.approx(accuracy(ours) - accuracy(base), abs=1e-12)


def test_one_cell_is_left_unfilled_with_its_reason_and_its_command(walked) -> None:  # type: ignore[no-untyped-def]
    work, answer, _ = walked
    table = answer["data"]["table"]
    row = table["cells"][next(i for i, name in enumerate(table["rows"]) if "frozen" in name)]
    assert all(cell["value"] is None and cell["status"] == "missing" and cell["reason"] for cell in row)
    assert "frozen.reviews.1" in answer["action"]
    line = next(x for x in (work / "tables/main.tex").read_text().splitlines() if "MiniLM, frozen" in x and "&" in x)
    assert "--" in line and not re.search(r"\d\d\.\d", line)


def test_both_planted_faults_are_named_and_mended(walked) -> None:  # type: ignore[no-untyped-def]
    _, answer, _ = walked
    rate, label = answer["data"]["faults"]
    assert rate["class"] == "divergence-lr-too-high" and rate["level"] in ("warning", "critical")
    assert rate["after"] == pytest.approx(rate["planted"] / 1000, rel=0.5), "the fix takes the rate back"
    assert label["class"] == "device-assert-label-range" and "finished" in label["after"]


def test_every_step_told_its_three_parts(walked) -> None:  # type: ignore[no-untyped-def]
    told = walked[2]
    assert told.count("📊 Result") >= 15 and told.count("💡 Explanation") == told.count("📊 Result")
    assert "Traceback" not in told


def test_the_workspace_holds_what_the_method_lists(walked) -> None:  # type: ignore[no-untyped-def]
    work, _, _ = walked
    for name in ("study.toml", "plans/minilm/plan.json", "plans/minilm/plan.md", "commands.md", "commands.sh", "monitoring.md", "evidence.jsonl",
                 "tables/main.tex", "tables/main.csv", "tables/numbers.tex", "figures/main.pdf", "figures/main.png", "figures/main.py", "figures/main.tikz.tex",
                 "runs/minilm.reviews.1/record.json", "results/minilm.reviews.1/metrics.json", "MANIFEST.json", "README.md"):  # fmt: skip
        assert (work / name).is_file() and (work / name).stat().st_size > 0, name
    assert list((work / "runs").rglob("debug/*.md")), "the debug log is kept"
    assert any("curve" in p.name for p in (work / "figures").glob("*.pdf")), "learning curve"
    assert any("confusion" in p.name for p in (work / "figures").glob("*.pdf")), "confusion heat map"


def test_the_package_verifies_and_fails_after_one_byte(walked, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    work, _, _ = walked
    bundle = tmp_path / "bundle"
    shutil.copytree(work.with_name("demo-bundle"), bundle)
    good = json.loads(run("package", "--verify", bundle, "--json").stdout)
    assert good["data"]["verified"] and good["data"]["reread"] == good["data"]["numbers"] > 10
    file = bundle / "runs/minilm.reviews.1/predictions.csv"
    data = file.read_bytes()
    file.write_bytes(data[:-2] + bytes([data[-2] ^ 1]) + data[-1:])
    assert run("package", "--verify", bundle).returncode == 1


def test_without_its_prediction_file_a_cell_is_unfilled_with_the_reason(walked, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    work, _, _ = walked
    copy = tmp_path / "copy"
    shutil.copytree(work, copy, ignore=shutil.ignore_patterns("checkpoint-*", "model", "earlier"))
    (copy / "runs/tfidf.reviews.1/predictions.csv").unlink()
    answer = json.loads(
        run("compare", copy, "--ours", "minilm", "--baseline", "tfidf", "-o", tmp_path / "out", "--json").stdout
    )
    rows = answer["data"]["table"]["rows"]
    cells = answer["data"]["table"]["cells"][next(i for i, n in enumerate(rows) if "tfidf" in n or "TF-IDF" in n)]
    assert all(c["value"] is None and c["reason"] for c in cells)
    assert any(t.get("refused") for t in answer["data"]["tests"])


def test_a_changed_plan_makes_later_steps_stale(walked, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    work, _, _ = walked
    copy = tmp_path / "copy"
    shutil.copytree(work, copy, ignore=shutil.ignore_patterns("checkpoint-*", "model", "earlier"))
    assert run("plan", copy, "--set", "weight_decay=0.02").returncode == 0
    steps = {s["name"]: s["state"] for s in json.loads(run("status", copy, "--json").stdout)["data"]["steps"]}
    assert steps["derive"] == "unconfirmed" and steps["configure"] == "stale"
    assert run("launch", copy, "--run", "minilm.reviews.1", "--overwrite", "--yes").returncode == 3


@pytest.mark.latex
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex: `make latex`")
def test_table_and_figure_compile_and_the_page_is_not_empty(walked, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    work, _, _ = walked
    for folder in ("tables", "figures"):
        shutil.copytree(work / folder, tmp_path / folder)
    (tmp_path / "paper.tex").write_text(
        r"\documentclass{article}\usepackage{booktabs,graphicx,pgfplots}\pgfplotsset{compat=1.17}\usepgfplotslibrary{fillbetween,colormaps}"
        "\n" r"\input{tables/numbers}\begin{document}\input{tables/main}\begin{figure}\input{figures/main.tikz}\end{figure}"
        r"\includegraphics[width=5cm]{figures/main.pdf}\end{document}" "\n"
    )  # fmt: skip
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        errors="replace",
    )
    assert done.returncode == 0, done.stdout[-3000:]
    if shutil.which("pdftoppm"):
        subprocess.run(["pdftoppm", "-gray", "-r", "50", "paper.pdf", "page"], cwd=tmp_path, check=True)
        first = next(tmp_path.glob("page-*1.pgm")).read_bytes()
        dark = sum(byte < 128 for byte in first.split(b"255\n", 1)[1])
        assert dark > 500, "the page is rendered and not empty"
