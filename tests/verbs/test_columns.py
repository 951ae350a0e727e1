"""`--columns`: the plan, the files that are written, the check and the second plan read the same columns."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
import yaml

from papertrain.core.errors import PapertrainError
from papertrain.verbs.check import check
from papertrain.verbs.generate import generate
from papertrain.verbs.plan import plan

SAID = ("prompt=frage,answer=antwort",)


def rows(file: Path, first: int, n: int) -> Path:
    made = [{"frage": f"say {i}", "antwort": f"said {i}", "text": "no", "label": "x"} for i in range(first, first + n)]
    file.write_text("".join(json.dumps(r) + "\n" for r in made))
    return file


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows(Path("d.jsonl"), 0, 40)
    rows(Path("held.jsonl"), 39, 10)
    plan("Qwen/Qwen2.5-0.5B", data=Path("d.jsonl"), test=Path("held.jsonl"), columns=SAID, gpu="A100-80GB", output=Path("work"))  # fmt: skip
    return Path("work")


def defaults(script: Path) -> dict[str, object]:
    calls = [n for n in ast.walk(ast.parse(script.read_text())) if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "arg"]  # fmt: skip
    return {c.args[0].value: c.args[1].value for c in calls if all(isinstance(a, ast.Constant) for a in c.args[:2])}  # type: ignore[attr-defined]


def test_every_file_names_the_columns_of_the_plan(work: Path) -> None:
    generate(work)
    info = json.loads((work / "configs/ours/llamafactory/dataset_info.json").read_text())
    assert info["d"]["columns"] == {"prompt": "frage", "response": "antwort"}
    said = defaults(work / "configs/ours/script/train.py")
    assert (said["--prompt_column"], said["--response_column"]) == ("frage", "antwort")
    (entry,) = yaml.safe_load((work / "configs/ours/axolotl/train.yaml").read_text())["datasets"]
    assert (entry["type"]["field_instruction"], entry["type"]["field_output"]) == ("frage", "antwort")
    assert "write frage as prompt, antwort as completion first" in (work / "configs/ours/trl/sft.yaml").read_text()


def test_the_check_reads_the_columns_that_a_config_names(work: Path) -> None:
    generate(work)
    for name in ("llamafactory", "axolotl"):
        found = check([work / f"configs/ours/{name}/train.yaml"]).data["findings"]
        assert not [f for f in found if f["rule"] == "TR356"], name  # by `text` and `label` all rows are the same
    (both,) = [f for f in check([work]).data["findings"] if f["rule"] == "TR322"]
    assert both["says"].startswith("1 of 10 rows of held.jsonl stand in d.jsonl too")


def test_a_plan_that_is_made_again_reads_them_as_before(work: Path) -> None:
    rows(Path("d.jsonl"), 0, 45)
    again = plan("work")
    assert again.data["dataset"]["columns"] == {"prompt": "frage", "response": "antwort"}
    assert again.data["changed"][0].startswith("data d.jsonl (40 rows, sha256 ")
    assert plan("work", columns=("text=antwort",)).data["dataset"]["columns"] == {"text": "antwort"}


def test_check_of_a_data_file_reads_the_named_columns(work: Path) -> None:
    Path("d.jsonl").write_text('{"frage": "q", "antwort": "", "text": "x"}\n{"frage": "p", "antwort": "a", "text": "x"}\n')  # fmt: skip
    (found,) = check([Path("d.jsonl")], columns=SAID).data["findings"]
    assert (found["rule"], found["line"]) == ("TR320", 1)
    shown = check([Path("d.jsonl")], columns=SAID, show=2).head.splitlines()
    assert ["p⏎" in line for line in shown if line.startswith("row 2")] == [True]


def test_columns_without_data_and_a_copied_command(work: Path) -> None:
    with pytest.raises(PapertrainError, match="add --data FILE"):
        plan("Qwen/Qwen2.5-0.5B", columns=SAID, gpu="A100-80GB")
    action = plan("Qwen/Qwen2.5-0.5B", data=Path("d.jsonl"), columns=SAID, gpu="A100-80GB").action or ""
    assert f"--columns {SAID[0]}" in action
