"""Curves as data and as text."""

from __future__ import annotations

import math
from pathlib import Path

from papertrain.monitor.curves import series, several
from papertrain.monitor.live import AGAIN_AFTER, Alarms, silence
from papertrain.monitor.run import examine_text
from papertrain.report.curves import plot, spark

LOGS = Path(__file__).resolve().parents[1] / "logs"


def test_series_give_steps_and_values_by_signal():
    found = series(LOGS / "hf_trainer_state" / "ordinary" / "trainer_state.json")
    assert found["train_loss"][0] == list(range(10, 130, 10)) and found["train_loss"][1][0] == 2.31
    assert found["eval_loss"] == ([120], [1.4])
    assert {"learning_rate", "grad_norm"} <= set(found)


def test_metrics_keep_their_own_names():
    assert "metrics/mAP50(B)" in series(LOGS / "csv" / "ultralytics" / "results.csv")


def test_runs_without_a_log_are_left_out(tmp_path):
    assert list(several({"a": LOGS / "llmc" / "main_log" / "main.log", "b": tmp_path})) == ["a"]


def test_a_plot_keeps_its_width_and_shows_every_spike():
    values = [1.0] * 500
    values[250] = 9.0
    lines = plot(range(500), values, width=60, height=6, unicode=False)
    assert max(map(len, lines)) <= 60
    assert "*" in lines[0] and "9" in lines[0]


def test_braille_and_ascii_agree_on_the_labels():
    values = [2 - i / 100 for i in range(100)]
    a, b = plot(range(100), values, unicode=True), plot(range(100), values, unicode=False)
    assert [x.split("│")[0] for x in a[:6]] == [x.split("|")[0] for x in b[:6]]


def test_nan_is_marked_and_not_drawn():
    lines = plot(range(100), [1.0 - i / 200 if i < 60 else math.nan for i in range(100)], unicode=False)
    assert any(line.endswith(" nan") and "x" in line for line in lines)


def test_a_curve_that_cannot_be_drawn_gives_nothing():
    assert plot([1], [2.0]) == [] and plot([], []) == [] and spark([math.nan]) == ""


def test_a_constant_is_drawn_as_a_line():
    assert any("*" in line for line in plot(range(10), [1.0] * 10, unicode=False))


def test_an_alarm_is_told_once_and_again_only_after_a_pause():
    bad = examine_text("step=40 loss=2.31\nstep=41 loss=2.30\nstep=42 loss=nan\nstep=43 loss=nan")
    good = examine_text("step=40 loss=2.31\nstep=41 loss=2.30\nstep=42 loss=2.31\nstep=43 loss=2.30")
    alarms = Alarms()
    assert len(alarms.new([bad])) == 1
    for found in (bad, good, bad, good, good, bad):
        assert alarms.new([found]) == []
    for _ in range(AGAIN_AFTER + 1):
        alarms.new([good])
    assert len(alarms.new([bad])) == 1


def test_a_log_without_times_that_falls_silent_is_an_alarm():
    fine = examine_text("step=40 loss=2.31\nstep=41 loss=2.30\nstep=42 loss=2.31\nstep=43 loss=2.30")
    assert silence(fine, quiet=60, usual=1) is fine
    assert silence(fine, quiet=130, usual=1).level == "warning"
    assert silence(fine, quiet=2000, usual=1).level == "critical"
    assert silence(fine, quiet=2000, usual=300) is fine
