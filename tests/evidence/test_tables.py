"""A table changed by hand is told apart from what its evidence says; one that compare wrote never is."""

from __future__ import annotations

import json
import random
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "security"))
import scene

from papertrain import verbs
from papertrain.core.evidence import read_evidence
from papertrain.evidence.tables import _rounded, contradictions, is_table


def told(root: Path) -> list[tuple[str, int, str]]:
    names = [n for p in (root / "tables").iterdir() if is_table(n := p.relative_to(root).as_posix())]
    return [tuple(d) for d in contradictions(((n, (root / n).read_text("utf-8")) for n in names), read_evidence(root))]


@pytest.fixture
def compared(tmp_path: Path) -> Path:
    work = scene.build(tmp_path)
    verbs.load("evaluate")([work])
    verbs.load("compare")([work], output=work)
    assert told(work) == []
    return work


@pytest.mark.parametrize("style", [(), ("intervals",), ("siunitx",), ("acl", "siunitx")])
@pytest.mark.parametrize("seed", range(4))
def test_no_table_that_compare_writes_contradicts_its_evidence(
    tmp_path: Path, seed: int, style: tuple[str, ...]
) -> None:
    """Fractions, percents, lower-is-better, several seeds, thousands, negative values, an open cell."""
    rng, files = random.Random(seed), []
    for method in ("ours & co", "base_line", "third"):
        for dataset, top in (("glue/sst2", 1.0), ("news 50%", 100.0), ("big", 12_000.0), ("below", -3.0)):
            for k in range(1, rng.choice((1, 3, 4)) + 1):
                if (method, dataset) == ("third", "big"):
                    continue
                file = tmp_path / f"{method}/{dataset.replace('/', '-')}/seed{k}/all_results.json"
                file.parent.mkdir(parents=True)
                metric = {"big": "perplexity", "below": "mcc"}.get(dataset, "accuracy")
                value = top * rng.uniform(0.3, 0.9) if metric != "mcc" else rng.uniform(-0.9, 0.9)
                file.write_text(json.dumps({f"eval_{metric}": value, "epoch": 1.0}))
                files.append(file)
    verbs.load("compare")(
        [tmp_path], output=tmp_path / "out", style=style, map=("{method}/{dataset}/seed{seed}/all_results.json",)
    )
    assert (tmp_path / "out/tables/main.tex").read_text().count("% ") > 5
    assert told(tmp_path / "out") == []


@pytest.mark.parametrize(("file", "old", "new"), [
    ("tables/main.tex", r"(\D)(\d\d\.\d)(\D)", r"\g<1>99.9\3"),
    ("tables/numbers.tex", r"(\{)(\d\d\.\d)(\}% E)", r"\g<1>99.9\3"),
    ("tables/main.csv", r"(,)(0\.\d+)(,,?\d)", r"\g<1>0.999\3"),
    ("tables/numbers.tex", r"(% )E\d+( verified)", r"\1E4711\2"),
])  # fmt: skip
def test_a_number_changed_by_hand_is_named_with_its_line_and_the_package_says_so(compared: Path, tmp_path: Path, file: str, old: str, new: str) -> None:  # fmt: skip
    path = compared / file
    lines = path.read_text().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if re.search(old, line) and not line.startswith(("\\caption", "%")))
    lines[at] = re.sub(old, new, lines[at], count=1)
    path.write_text("".join(lines))
    (found, *_) = told(compared)
    assert found[:2] == (file, at + 1) and ("99" in found[2] or "E4711" in found[2])
    status = verbs.load("status")(compared)
    step = next(s for s in status.data["steps"] if s["name"] == "results")
    assert step["state"] == "stale" and f"{file}:{at + 1}" in step["because"]
    verbs.load("package")(compared, output=tmp_path / "bundle.zip")
    verdict = verbs.load("package")(verify=tmp_path / "bundle.zip")
    assert verdict.level == "error" and any(f["file"] == f"{file}:{at + 1}" for f in verdict.data["faults"])


def test_a_table_that_somebody_wrote_is_passed_over(compared: Path) -> None:
    (compared / "tables/mine.tex").write_text("Ours & 99.9 & 12 \\\\\n% E1 said so\n")
    (compared / "tables/mine.csv").write_text("a,b\n1,2\n")
    assert told(compared) == []


@pytest.mark.parametrize("content", [b"\0" * 9000, b"evidence,value\nE1,\0\0\n", b"evidence,value\nE1," + b"9" * 200_000 + b"\n", b"evidence,value\n\xff\xfeE1,nan\n", b'"' * 999, b""])  # fmt: skip
def test_a_table_that_is_broken_stops_neither_status_nor_the_verification(compared: Path, tmp_path: Path, content: bytes) -> None:  # fmt: skip
    (compared / "tables/more.csv").write_bytes(content)
    (compared / "tables/more.tex").write_bytes(content)
    assert verbs.load("status")(compared).data["steps"]
    verbs.load("package")(compared, output=tmp_path / "bundle")
    for name in ("more.csv", "more.tex"):  # as somebody may have put them there afterwards
        (tmp_path / "bundle/tables" / name).write_bytes(content)
    faults = verbs.load("package")(verify=tmp_path / "bundle").data["faults"]
    assert all(f["file"].startswith("tables/more.") and len(f["says"]) < 120 for f in faults), faults


@pytest.mark.parametrize(("shown", "value", "right"), [("57.0", 0.57, True), ("57.1", 0.57, False), (r"\textbf{81.25}", 0.8125, True), ("$-$3.1", -3.14, True), ("3.1", -3.14, False),
                                                       ("12{,}345.0", 12345.04, True), ("0.6", 0.55, True), ("--", 0.5, True), (r"$1.2\times10^{-5}$", 0.5, True), (r"\underline{57.0}$^{a}$ {\small $\pm$ 1.2}", 0.5702, True)])  # fmt: skip
def test_what_is_shown_is_the_value_rounded(shown: str, value: float, right: bool) -> None:
    assert _rounded(shown, value) is right
