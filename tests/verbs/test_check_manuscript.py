"""`check main.tex`: a manuscript beside the evidence that `compare` wrote."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from scored import A, B, predictions, small_study, two

from papertrain.cli import main
from papertrain.core.errors import PapertrainError
from papertrain.core.report import Report
from papertrain.verbs.check import check
from papertrain.verbs.compare import compare
from papertrain.verbs.explain import explain


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    """What compare wrote for 220 shared items (63.6 against 55.5, exact McNemar p = 0.0079), and nothing else."""
    two(tmp_path, A, B, metrics=["accuracy"], output=tmp_path / "paper")
    return tmp_path


def write(folder: Path, body: str, name: str = "main.tex") -> Path:
    (folder / name).write_text("\\documentclass{article}\n\\begin{document}\n" + body + "\n\\end{document}\n")
    return folder / name


def lines(report: Report) -> list[str]:
    return [line.strip().rpartition("/")[2] for line in report.body.splitlines()]


def test_a_typed_number_that_differs_is_named_with_line_and_evidence(paper: Path) -> None:
    r = check([write(paper, "\nOurs reaches 63.9 accuracy.")])
    (line,) = lines(r)
    assert line.startswith("main.tex:4 63.9, evidence E1 says 63.6 (ours, Accuracy")
    assert r.exit_code() == 1 and "1 number contradicts the evidence" in r.result
    (f,) = r.data["findings"]
    assert (f["rule"], f["level"], f["line"], f["instead"]) == ("TR801", "error", 4, "63.6")
    assert r.action is not None and r.action.startswith("papertrain explain E1 --plan ")


def test_a_manuscript_that_says_what_was_measured_passes(paper: Path) -> None:
    r = check(
        [
            write(
                paper,
                "Ours reaches 63.6\\% accuracy against 55.5\\% of base, a significant improvement of 8.2 points ($p = 0.0079$, $n = 220$).",
            )
        ]
    )
    assert r.body == "" and r.exit_code() == 0 and r.data["numbers"]["agree"] >= 5


def test_the_tables_that_compare_wrote_pass_and_a_hand_in_them_is_found(paper: Path) -> None:
    file = write(paper, "\\input{paper/tables/numbers}\n\\input{paper/tables/main}\nOurs: \\ptOursAccuracy.")
    r = check([file])
    assert r.body == "" and r.data["numbers"]["macros"] == 1
    table = paper / "paper/tables/main.tex"
    table.write_text(table.read_text().replace("63.6", "64.6"))
    assert "evidence E1 says 63.6" in check([file]).body and "tables/main.tex" in check([file]).body


def test_significance_without_a_test(tmp_path: Path) -> None:
    x, y = predictions(tmp_path / "a.csv", A), predictions(tmp_path / "b.csv", B, ids=list(range(1000, 1220)))
    compare(system=[f"ours={x}", f"base={y}"], ours="ours", baseline="base", output=tmp_path / "paper")
    r = check([write(tmp_path, "Ours is significantly better than base.")])
    assert "“significantly”, but the test of ours against base was refused" in r.body and r.exit_code() == 1


def test_a_workspace_is_found_above_named_or_beside(tmp_path: Path) -> None:
    work = small_study(tmp_path)
    compare([work])
    (work / "paper").mkdir()
    text = "TF-IDF reaches 55.9 accuracy on reviews."
    for file, more in (
        (write(work / "paper", text), []),
        (write(tmp_path, text), []),
        (write(tmp_path / "..", text, f"{tmp_path.name}.tex"), [work]),
    ):
        r = check([file, *more])
        assert "says 55.5 (tfidf, Accuracy on reviews)" in r.body
        if more:
            file.unlink()


def test_without_evidence_it_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(PapertrainError) as caught:
        check([write(tmp_path, "81.7")])
    assert caught.value.code == "no-evidence"


def test_a_line_can_be_silenced_and_rules_chosen(paper: Path) -> None:
    assert check([write(paper, "Ours reaches 63.9 accuracy. % papertrain: ignore[TR801] of the appendix")]).body == ""
    file = write(paper, "Ours reaches 63.9 accuracy ($p = 0.000$).")
    assert [f["rule"] for f in check([file], select=["TR804"]).data["findings"]] == ["TR804"]
    assert [f["rule"] for f in check([file], ignore=["p-of-zero"]).data["findings"]] == ["TR801"]


def test_what_the_project_says_of_the_rules_counts_for_a_manuscript_too(paper: Path) -> None:
    file = write(paper, "Ours reaches 63.9 accuracy ($p = 0.000$).")
    (paper / "papertrain.toml").write_text('ignore = ["TR801"]\n')
    assert [f["rule"] for f in check([file]).data["findings"]] == ["TR804"]
    (paper / "papertrain.toml").write_text('select = ["TR801", "TR305"]\n')
    (paper / "ds.json").write_text('{"zero_optimization": {"stage": 9}}')
    assert [f["rule"] for f in check([file, paper / "ds.json"]).data["findings"]] == ["TR801"], (
        "one list for both kinds"
    )
    (paper / "papertrain.toml").write_text('[per-file-ignores]\n"*.tex" = ["ALL"]\n')
    assert check([file]).data["findings"] == []


def test_a_rule_that_nobody_knows_is_named_for_a_manuscript_too(paper: Path) -> None:
    with pytest.raises(PapertrainError, match="no rule") as caught:
        check([write(paper, "Ours reaches 63.9 accuracy.")], ignore=["TR8O1"])
    assert caught.value.nearest == "TR801"


def test_a_baseline_of_manuscript_and_configs_holds_both(paper: Path) -> None:
    (paper / "ds.json").write_text('{"zero_optimization": {"stage": 9}}')
    files = [write(paper, "Ours reaches 63.9 accuracy."), paper / "ds.json"]
    found = check(files, write_baseline=paper / "known.json").data["findings"]
    assert len(found) > 1 and check(files, baseline=paper / "known.json").data["findings"] == []


def test_configs_beside_it_are_checked_too(paper: Path) -> None:
    (paper / "ds.json").write_text('{"zero_optimization": {"stage": 9}}')
    r = check([write(paper, "Ours reaches 63.9 accuracy."), paper / "ds.json"])
    assert {f["rule"] for f in r.data["findings"]} > {"TR801"} and "63.9" in r.body


def test_the_envelope_and_other_formats(paper: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(paper, "Ours reaches 63.9 accuracy.")
    assert main(["check", str(file), "--json"]) == 1
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert (
        document["data"]["findings"][0]["says"].startswith("63.9, evidence E1 says 63.6")
        and document["data"]["accounting"]["reason"]
    )
    assert main(["check", str(file), "--output-format", "github"]) == 1
    assert "::error file=" in capsys.readouterr().out
    assert main(["check", str(file), "--output-format", "sarif"]) == 1
    assert json.loads(capsys.readouterr().out)["runs"][0]["results"][0]["ruleId"] == "TR801"


def test_other_formats_hold_the_manuscript_and_the_configs(paper: Path) -> None:
    file, config = write(paper, "Ours reaches 63.9 accuracy."), paper / "ds.json"
    config.write_text('{"zero_optimization": {"stage": 9}}')
    assert json.loads(check([file], output_format="json").data["printed"])["numbers"]["contradict"] == 1
    lines = check([file, config], output_format="github").data["printed"].splitlines()
    run = json.loads(check([file, config], output_format="sarif").data["printed"])["runs"][0]
    known = {f["rule"] for f in json.loads(check([file, config], output_format="json").data["printed"])["findings"]}
    assert known == {r["ruleId"] for r in run["results"]} == {r["id"] for r in run["tool"]["driver"]["rules"]}
    assert len(lines) == len(run["results"]) and "TR801" in known and len(known) > 1


@pytest.mark.parametrize("rule", ["TR801", "TR802", "TR803", "TR804", "TR805", "TR806", "number-contradicts-evidence"])
def test_every_rule_explains_itself(rule: str) -> None:
    assert explain(rule).data["kind"] == "rule"


def test_a_measurement_that_changed_since_is_stale(tmp_path: Path) -> None:
    work = small_study(tmp_path)
    compare([work])
    predictions(work / "runs/tfidf.reviews.1/predictions.csv", A)
    r = check([write(tmp_path, "TF-IDF reaches 55.5 accuracy on reviews.")])
    assert "has changed since it was read" in r.body and r.exit_code() == 0


def test_a_table_aligned_by_siunitx_is_checked_like_the_plain_one(tmp_path: Path) -> None:
    two(tmp_path, A, B, metrics=["accuracy"], output=tmp_path / "paper", style=["acl", "siunitx"])
    table = (tmp_path / "paper/tables/main.tex").read_text("utf-8")
    assert "S[table-format=2.1" in table and r"\bfseries 63.6" in table
    passed = check([write(tmp_path, r"\input{paper/tables/main}")])
    assert passed.exit_code() == 0 and passed.data["numbers"]["agree"] >= 2
    (tmp_path / "paper/tables/main.tex").write_text(table.replace(r"\bfseries 63.6", r"\bfseries 64.6"), "utf-8")
    (line,) = lines(check([write(tmp_path, r"\input{paper/tables/main}")]))
    assert "64.6, evidence E1 says 63.6" in line


def test_the_next_command_keeps_how_the_tables_are_aligned(tmp_path: Path) -> None:
    r = two(tmp_path, A, B, metrics=["accuracy"], style=["siunitx"])
    assert r.action is not None and "--style siunitx" in r.action
