"""A log that names no step: its rows are counted, beside the rows of its densest signal, and called rows."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from papertrain.monitor.curves import lines_of, read, several
from papertrain.monitor.find import read_text
from papertrain.monitor.history import History
from papertrain.monitor.run import examine_text
from papertrain.monitor.verdict import SignalState


def stepless(**extra: object) -> str:
    """60 rows of a falling training loss, an evaluation after rows 20, 40 and 60 that grows worse from the first on."""
    noise, lines = random.Random(3), []
    for i in range(1, 61):
        loss = 0.4 + 2.6 * 0.94**i + noise.uniform(-0.12, 0.12)
        lines.append(json.dumps({"loss": round(loss, 4), "lr": 2e-5, **extra}))
        if i % 20 == 0:
            lines.append(json.dumps({"eval_loss": {20: 1.9, 40: 2.9, 60: 3.9}[i]}))
    return "\n".join(lines)


def signal(text: str, name: str) -> SignalState:
    return next(s for s in examine_text(text).signals if s.name == name)


def history(text: str) -> History:
    return History("text", [read_text(text)])


def test_an_evaluation_stands_at_the_training_row_before_it() -> None:
    run = history(stepless())
    assert run.evaluations[0].steps == [20, 40, 60] and run.evaluations[0].unit == "row"
    assert run.raw_loss is not None and (run.raw_loss.steps[-1], run.raw_loss.unit) == (60, "row")
    assert (run.last_step, run.unit) == (60, "row")


def test_an_evaluation_before_the_first_training_row_stands_at_zero() -> None:
    text = '{"eval_loss": 5.0}\n' + stepless()
    assert history(text).evaluations[0].steps == [0, 20, 40, 60]


def test_evaluations_without_step_among_rows_with_steps_get_those_steps() -> None:
    rows = []
    for i in range(1, 31):
        rows.append(json.dumps({"step": 10 * i, "loss": 3 - 0.05 * i}))
        if i % 10 == 0:
            rows.append(json.dumps({"eval_loss": 2.5 - 0.02 * i}))
    (c,) = history("\n".join(rows)).evaluations
    assert (c.steps, c.unit) == ([100, 200, 300], "step")


def test_evaluations_that_all_follow_the_training_are_counted_by_themselves() -> None:
    rows = [json.dumps({"loss": 3 - 0.05 * i}) for i in range(30)]
    rows += [json.dumps({"eval_loss": 2.5 - 0.02 * i}) for i in range(6)]
    (c,) = history("\n".join(rows)).evaluations
    assert (c.steps, c.unit) == ([1, 2, 3, 4, 5, 6], "value")


def test_a_sparser_signal_is_placed_among_the_denser_one() -> None:
    rows = []
    for i in range(1, 61):
        rows.append(json.dumps({"grad_norm": 1.0 + 0.01 * (i % 3)}))
        if i % 5 == 0:
            rows.append(json.dumps({"loss": 3 - 0.04 * i}))
    c = history("\n".join(rows)).raw_loss
    assert c is not None and c.steps == list(range(5, 61, 5)) and c.unit == "row"


def test_rows_by_epoch_are_called_epochs() -> None:
    rows = [json.dumps({"epoch": i, "loss": 3 - 0.05 * i, "val_loss": 3.1 - 0.04 * i}) for i in range(1, 31)]
    run = history("\n".join(rows))
    assert run.unit == "epoch" and run.evaluations[0].unit == "epoch"
    assert "at epoch 30" in signal("\n".join(rows), "eval_loss").says


def test_steps_that_the_log_names_stay_steps() -> None:
    rows = [json.dumps({"step": i, "loss": 3 - 0.05 * i, "eval_loss": 3.1 - 0.04 * i}) for i in range(1, 31)]
    e = examine_text("\n".join(rows))
    assert e.unit == "step" and all(x.unit == "step" for s in e.signals for x in s.seen)
    assert "at step 30" in next(s.says for s in e.signals if s.name == "eval_loss")


def test_no_sentence_of_a_log_without_steps_speaks_of_a_step() -> None:
    e = examine_text(stepless())
    said = [s.says for s in e.signals if s.level != "unknown"]
    assert not any("step" in x for x in said), said
    worse = next(s for s in e.signals if s.name == "eval_loss")
    assert worse.level in ("warning", "critical") and "at row 20" in worse.says
    assert (worse.since_step, worse.unit) == (40, "row")
    assert e.unit == "row"


FAULTS = {
    "train_loss": [{"loss": 2.0 - 0.01 * i if i < 40 else float("nan")} for i in range(60)],
    "learning_rate": [{"loss": 2.0 - 0.01 * i, "lr": 2e-5 if i != 40 else 2e-3} for i in range(60)],
    "grad_norm": [{"loss": 2.0 - 0.01 * i, "grad_norm": 0.9 if i < 40 else float("nan")} for i in range(60)],
}


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_a_fault_in_a_log_without_steps_is_dated_by_its_row(name: str) -> None:
    found = signal("\n".join(json.dumps(r) for r in FAULTS[name]), name)
    assert (found.level, found.since_step, found.unit) == (found.level, 41, "row") and found.level != "normal"
    assert "row 41" in found.says and "step 41" not in found.says


def test_a_smoothed_value_is_not_given_as_that_of_its_row() -> None:
    text = stepless()
    raw = history(text).raw_loss
    assert raw is not None
    said = signal(text, "train_loss").says
    assert "smoothed" in said and said.endswith(f"{raw.values[-1]:.4g} at row 60")


def test_a_rise_that_is_measured_on_smoothed_values_says_so() -> None:
    said = signal(stepless(), "eval_loss").says
    assert "smoothed" in said or f"risen by {100 * (3.9 / 1.9 - 1):.0f} %" in said


def test_a_plan_in_steps_says_nothing_on_how_far_counted_rows_have_come() -> None:
    run = history(stepless())
    run.tables[0].facts["max_steps"] = 600.0
    assert run.total_steps is None and run.progress is None


def test_values_after_a_damaged_middle_keep_their_places() -> None:
    rows = stepless().splitlines()
    rows[10] = '{"loss": 1.2, "lr'
    c = history("\n".join(rows)).evaluations[0]
    assert c.steps == [19, 39, 59]  # the damaged row is counted nowhere


def test_a_file_that_names_one_and_the_same_step_in_every_row_names_none() -> None:
    rows = [json.dumps({"step": 0, "loss": 3 - 0.05 * i, "eval_loss": 3.1 - 0.04 * i}) for i in range(1, 31)]
    run = history("\n".join(rows))
    assert (run.unit, run.last_step) == ("row", 30) and run.evaluations[0].steps == list(range(1, 31))


def test_curves_for_pages_and_figures_say_what_they_count(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text(stepless() + "\n")
    found = lines_of(read(tmp_path))
    assert {n: c.unit for n, c in found.items()} == {"train_loss": "row", "learning_rate": "row", "eval_loss": "row"}
    assert several({"a": tmp_path})["a"]["eval_loss"].steps == [20, 40, 60]


def test_a_text_that_prints_once_an_epoch_is_told_in_epochs() -> None:
    e = examine_text("\n".join(f"Epoch: {i}/50 | Train Loss: {3 - 0.05 * i:.3f} | Val Loss: {3.1 - 0.04 * i:.3f}" for i in range(1, 31)))  # fmt: skip
    assert (e.unit, e.last_step, e.total_steps) == ("epoch", 30, 50)
    assert "at epoch 30" in next(s.says for s in e.signals if s.name == "train_loss")


def test_a_text_with_steps_within_epochs_stays_with_steps() -> None:
    e = examine_text("\n".join(f"Epoch [{1 + i // 10}/3], Step [{1 + i % 10}/10], Loss: {3 - 0.05 * i:.3f}" for i in range(30)))  # fmt: skip
    assert (e.unit, e.last_step, e.total_steps) == ("step", 30, 30)
