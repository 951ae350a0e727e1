"""Predictions, comparisons and a small study with results: what the tests of `compare`, `evaluate` and `check` share."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from papertrain.core.report import Report
from papertrain.verbs.compare import compare

A = [True] * 110 + [True] * 30 + [False] * 12 + [False] * 68
B = [True] * 110 + [False] * 30 + [True] * 12 + [False] * 68


def predictions(path: Path, right: list[bool], ids: list[int] | None = None, label: str = "yes") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as out:
        w = csv.writer(out)
        w.writerow(["id", "label", "prediction"])
        for i, ok in zip(ids or range(len(right)), right):
            gold = label if int(i) % 2 else "no"
            w.writerow([i, gold, gold if ok else "other"])
    return path


def run(*paths: Path, **options: Any) -> Report:
    return compare([*paths], **options)


def two(tmp_path: Path, a: list[bool], b: list[bool], **options: Any) -> Report:
    x, y = predictions(tmp_path / "a.csv", a), predictions(tmp_path / "b.csv", b)
    return compare(system=[f"ours={x}", f"base={y}"], ours="ours", baseline="base", **options)


def comparison(report: Report, metric: str = "accuracy", **details: Any) -> dict[str, Any]:
    columns = report.data["table"]["columns"]
    return next(
        t
        for t in report.data["tests"]
        if columns[t["column"]]["metric"] == metric and all(t["details"].get(k) == v for k, v in details.items())
    )


def cell(report: Report, row: str, metric: str = "accuracy", dataset: str | None = None) -> dict[str, Any]:
    t = report.data["table"]
    j = next(j for j, c in enumerate(t["columns"]) if c["metric"] == metric and dataset in (None, c["dataset"]))
    return t["cells"][t["rows"].index(row)][j]


def small_study(tmp_path: Path) -> Path:
    """Two seeds of ours, one of a baseline, and an ablation that was not run."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "study.toml").write_text(
        '[study]\nours = "ours"\nbaselines = ["tfidf"]\nseeds = [1, 2]\n[methods.tfidf]\nkind = "command"\ncommand = "x"\nseeds = [1]\nlabel = "TF-IDF"\ntrials = 3\n'
        '[methods.ours]\ntrials = 9\n[methods.ablated]\nseeds = [1]\n[datasets.reviews]\ntest = "t.csv"\n'
    )
    for run_, right in (("ours.reviews.1", A), ("ours.reviews.2", A), ("tfidf.reviews.1", B)):
        predictions(work / f"runs/{run_}/predictions.csv", right)
        (work / f"runs/{run_}/record.json").write_text('{"exit_code": 0}')
    return work


def codes(r: Report) -> set[str]:
    return {i["code"] for i in r.data["issues"] if "code" in i}


def ranks(r: Report) -> list[Any]:
    return [c["rank"] for row in r.data["table"]["cells"] for c in row]
