"""What `watch` and the pages show of a log that names no step."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from papertrain.core.texts import language
from papertrain.report.figures._figure import Drawing
from papertrain.report.figures.curves import FIGURE, HEADER
from papertrain.verbs.page.parts import curve_parts
from papertrain.verbs.watch import watch


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """60 rows; the loss is NaN from the 40th on. Checkpoints are named by steps."""
    rows = []
    for i in range(1, 61):
        rows.append({"loss": 3 - 0.04 * i if i < 40 else float("nan"), "lr": 2e-5})
        if i % 20 == 0:
            rows.append({"eval_loss": 3.1 - 0.01 * i})
    (tmp_path / "metrics.jsonl").write_text("\n".join(map(json.dumps, rows)))
    for step in (10, 400):
        (tmp_path / f"checkpoint-{step}").mkdir()
    return tmp_path


def test_the_text_speaks_of_rows(run: Path) -> None:
    found = watch([run])
    assert "(row 60)" in found.result and "since row 40" in found.result
    assert "loss by row" in found.body and "at row 60, best 2.5 at row 60" in found.body


def test_no_checkpoint_is_called_good_by_the_number_of_a_row(run: Path) -> None:
    said = watch([run]).explanation
    assert "checkpoint-10" not in said and "No checkpoint" not in said


def test_a_count_of_rows_beyond_a_checkpoint_is_no_age_of_it(run: Path) -> None:
    (checkpoint,) = [s for s in watch([run]).data["signals"] if s["name"] == "checkpoint"]
    assert checkpoint["level"] == "normal"


def test_the_data_name_the_unit_beside_the_number(run: Path) -> None:
    data = watch([run]).data
    loss = next(s for s in data["signals"] if s["name"] == "train_loss")
    assert (loss["level"], loss["since_step"], loss["unit"]) == ("critical", 40, "row")
    assert {e["unit"] for e in loss["evidence"]} == {"row"}
    assert (data["last_step"], data["unit"]) == (60, "row")


def test_the_data_of_a_log_with_steps_name_steps(tmp_path: Path) -> None:
    rows = [json.dumps({"step": 10 * i, "loss": 3 - 0.04 * i}) for i in range(1, 61)]
    (tmp_path / "metrics.jsonl").write_text("\n".join(rows))
    found = watch([tmp_path])
    assert found.data["unit"] == "step" and "(step 600)" in found.result and "loss by step" in found.body


def test_chinese_says_rows_too(run: Path) -> None:
    token = language.set("zh")
    try:
        found = watch([run])
    finally:
        language.reset(token)
    assert "第 40 行" in found.result and "loss 随行数的变化" in found.body


def test_a_page_labels_its_axis_with_rows(run: Path) -> None:
    loss = curve_parts(run, watch([run]).data["signals"])[0]
    assert ">row</text>" in loss and "from row 40" in loss and "not finite at row 41" in loss and "step" not in loss.replace("every later step", "")  # fmt: skip


def test_a_figure_of_learning_curves_labels_each_panel_with_its_unit() -> None:
    rows = tuple(("ours", 1, s, x, 1.0 / x, "runs/a") for s in ("train_loss", "eval_loss") for x in range(1, 9))
    options = {"log": {}, "unit": {"train_loss": "row", "eval_loss": "step"}}
    drawing = Drawing(name="curves", title="", header=HEADER, rows=rows, width=5.0, height=2.2, options=options)
    drawn = FIGURE.tikz(drawing)
    assert "xlabel={row}, ylabel={train loss}" in drawn and "xlabel={step}, ylabel={eval loss}" in drawn
