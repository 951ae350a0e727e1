"""Every rule fires on its sample, is quiet on its other sample and on every healthy log, and has an id of its own."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pytest

from papertrain.monitor.history import History
from papertrain.monitor.run import all_rules, examine, judge
from papertrain.monitor.sample import examine_sample
from papertrain.monitor.table import Table

SHARED = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "logs"
RULES = list(all_rules().values())
INDEX = (
    [json.loads(line) for line in (SHARED / "index.jsonl").read_text("utf-8").splitlines()]
    if (SHARED / "index.jsonl").is_file()
    else []
)
CLASSES = SHARED.parents[1] / "design" / "classes.md"


@pytest.mark.parametrize("rule", RULES, ids=lambda r: f"{r.id}-{r.name}")
def test_a_rule_fires_on_its_sample(rule):
    assert any(v.rule == rule.id for v in examine_sample(rule.fires).verdicts)


@pytest.mark.parametrize("rule", RULES, ids=lambda r: f"{r.id}-{r.name}")
def test_every_rule_is_quiet_on_the_quiet_sample(rule):
    assert [v.says for v in examine_sample(rule.quiet).verdicts] == []


@pytest.mark.parametrize("rule", RULES, ids=lambda r: f"{r.id}-{r.name}")
def test_a_rule_has_its_place_and_its_words(rule):
    assert 101 <= int(rule.id.removeprefix("TR")) <= 149
    assert rule.applies.endswith(".")
    assert rule.what.endswith(".") and rule.why.endswith(".") and rule.known_problems.endswith(".")


@pytest.mark.skipif(not INDEX, reason="the shared logs are not here")
@pytest.mark.parametrize("log", INDEX, ids=lambda x: x["id"])
def test_real_logs_are_judged_as_their_label_says(log):
    found = examine([SHARED / log["file"].removeprefix("logs/")])[0]
    assert not [note for note in found.notes if "fault" in note]
    if log["label"] == "healthy":
        assert found.level in ("normal", "unknown"), [v.says for v in found.verdicts]
    elif log["label"] == "unhealthy":
        must = any(a["severity"] == "critical" and "warning" not in (a["severity_ok"] or []) for a in log["anomalies"])
        assert found.level == "critical" if must else found.level in ("warning", "critical")
    else:
        assert found.level != "critical"


@pytest.mark.skipif(not INDEX, reason="the shared logs are not here")
@pytest.mark.parametrize(
    ("log", "signal", "step"),
    [
        ("mg01", "train_loss", 31219),
        ("mg02", "train_loss", 29050),
        ("mg04", "train_loss", 17062),
        ("mg04", "loss_scale", 17063),
        ("hf03", "eval_loss", 802),
        ("tf01", "train_loss", 100),
    ],
)
def test_the_onset_is_where_the_label_puts_it(log, signal, step):
    entry = next(x for x in INDEX if x["id"] == log)
    found = examine([SHARED / entry["file"].removeprefix("logs/")])[0]
    since = next(s.since_step for s in found.signals if s.name == signal)
    span = max(entry["steps"]) - min(entry["steps"]) if max(entry["steps"]) - min(entry["steps"]) > 100 else 100
    assert abs(since - step) <= 0.05 * span


@pytest.mark.skipif(not CLASSES.is_file(), reason="the vocabulary of failures is not here")
def test_every_class_that_an_alarm_names_is_in_the_vocabulary():
    known = CLASSES.read_text("utf-8")
    for rule in RULES:
        for v in examine_sample(rule.fires).verdicts:
            assert not v.cls or f"`{v.cls}`" in known, v.cls


def history(rows: list[dict], total: int | None = None) -> History:
    table = Table("curve", "llamafactory")
    for line, row in enumerate(rows, 1):
        values = [(k, v) for k, v in row.items() if k not in ("step", "epoch")]
        table.row(values, line=line, step=row["step"], epoch=row.get("epoch", math.nan))
    if total:
        table.facts["max_steps"] = float(total)
    table.finish()
    return History("curve", [table])


def level(rows: list[dict], signal: str = "train_loss", total: int | None = None) -> str:
    return next(s.level for s in judge(history(rows, total)).signals if s.name == signal)


def falling(n: int = 300, noise: float = 0.04, every: int = 10) -> list[dict]:
    r = random.Random(3)
    return [
        {
            "step": i * every,
            "epoch": 3 * i / n,
            "loss": 0.9 + 1.5 * math.exp(-i / 50) + r.gauss(0, noise),
            "lr": 2e-5 * (1 - i / (n + 1)),
            "grad_norm": 1 + r.random() / 10,
        }
        for i in range(1, n + 1)
    ]


@pytest.mark.parametrize("every", [1, 10, 500])
@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_the_verdict_does_not_hang_on_the_logging_interval_nor_on_a_large_unit(every, scale):
    rows = falling(every=every)
    for row in rows:
        row["loss"] *= scale
    assert level(rows) == "normal"
    for i, row in enumerate(rows):
        row["loss"] += scale * (0.02 * (i - 150) if i > 150 else 0)
    if scale >= 1:
        assert level(rows) == "critical"


def test_a_staircase_at_epochs_is_normal():
    rows = falling()
    for i, row in enumerate(rows):
        row["loss"] = (1.05, 0.72, 0.41)[min(2, i // 100)] + 0.6 * math.exp(-i / 12)
    assert level(rows) == "normal"


def test_one_spike_that_recovers_is_normal_and_a_long_one_is_not():
    rows = falling()
    rows[140]["loss"] = 4.0
    assert level(rows) == "normal"
    for row in rows[140:147]:
        row["loss"] = 4.0
    assert level(rows) == "critical"


def test_values_on_a_bf16_grid_are_no_plateau():
    rows = falling(noise=0.001)
    for i, row in enumerate(rows):
        row["loss"] = round(1.0 - 0.0001 * i, 2)
    assert level(rows) == "normal"


def test_zero_beside_a_nan_norm_is_a_hidden_nan():
    rows = falling()
    for row in rows[200:]:
        row["loss"], row["grad_norm"] = 0.0, math.nan
    assert level(rows) == "critical"


def test_zero_beside_a_finite_norm_is_rounding():
    rows = falling()
    for i, row in enumerate(rows):
        row["loss"] = max(0.0, 1.5 * math.exp(-i / 20))
        row["loss"] = 0.0 if row["loss"] < 5e-5 else row["loss"]
    assert level(rows) == "normal"


def test_zero_is_ordinary_in_grpo():
    rows = [
        {"step": i, "loss": 0.0, "grad_norm": 0.0 if i % 2 else 0.1, "reward": 0.2 + i / 1000, "reward_std": 0.3}
        for i in range(1, 200)
    ]
    assert judge(history(rows)).level == "normal"


def test_fp16s_first_overflows_and_a_rate_of_zero_there_and_at_the_end_are_normal():
    rows = falling()
    for row in rows[:3]:
        row["grad_norm"], row["lr"] = math.inf, 0.0
    rows[-1]["lr"] = 0.0
    found = judge(history(rows))
    assert found.level == "normal", [v.says for v in found.verdicts]


def test_what_a_resume_superseded_is_left_out():
    rows = falling()
    for row in rows[100:120]:
        row["loss"] = math.nan
    again = [dict(row, loss=falling()[i + 95]["loss"]) for i, row in enumerate(rows[95:])]
    found = judge(history(rows[:120] + again))
    assert found.level == "normal", [v.says for v in found.verdicts]
    assert any("resumed at step" in note for note in found.notes)


def test_two_writers_of_one_file_are_merged():
    rows = falling()
    both = [x for i, row in enumerate(rows) for x in ([row, dict(rows[i - 2])] if i >= 2 else [row])]
    found = judge(history(both))
    assert found.level == "normal" and found.steps == len(rows)
    assert any("several processes" in note for note in found.notes)


def test_missing_data_is_unknown_and_says_how_to_log_it():
    found = judge(history(falling()))
    rows = {s.name: s for s in found.signals}
    assert rows["gpu_utilization"].level == "unknown" and "nvidia-smi" in rows["gpu_utilization"].says
    assert len(rows) == 14


def test_evidence_points_to_the_line():
    rows = falling()
    for row in rows[200:]:
        row["loss"] = math.nan
    found = next(s for s in judge(history(rows)).signals if s.name == "train_loss")
    assert (found.since_step, found.seen[0].line) == (2010, 201)
