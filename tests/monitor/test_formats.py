"""The same curve in the formats of fifty programs: well, ill, and dated where the trouble began."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from monitor_formats import FORMATS, N
from papertrain.monitor.find import read_text
from papertrain.monitor.history import History
from papertrain.monitor.run import judge

RL = ("verl",)
"""Reinforcement learning prints no loss that means anything."""


def curve(kind: str) -> Callable[[int], float]:
    r = random.Random(3)
    values = [1 + 1.6 * math.exp(-i / 45) + r.gauss(0, 0.03) for i in range(N)]
    for i in range(N):
        if kind == "nan" and i >= 130:
            values[i] = math.nan
        elif kind == "rise" and i >= 130:
            values[i] += 0.05 * (i - 129)
        elif kind == "spike, then rise":
            values[i] = 5.0 if 60 <= i < 62 else values[i] + 0.08 * max(0, i - 149)
    return values.__getitem__


ONSET = {"nan": 130, "rise": 130, "spike, then rise": 150}


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_healthy_log_of_every_program_is_read_whole_and_normal(name):
    run = History(name, [read_text(FORMATS[name](curve("healthy")), name)])
    found = judge(run)
    assert found.level == "normal", [v.says for v in found.verdicts]
    if name not in RL:
        assert run.raw_loss is not None and len(run.raw_loss) >= 0.95 * N
        assert run.raw_loss.runs == 1 and not run.raw_loss.resumed


@pytest.mark.parametrize("kind", sorted(ONSET))
@pytest.mark.parametrize("name", sorted(set(FORMATS) - set(RL)))
def test_an_ill_log_of_every_program_is_critical_since_the_right_row(name, kind):
    run = History(name, [read_text(FORMATS[name](curve(kind)), name)])
    loss = next(s for s in judge(run).signals if s.name == "train_loss")
    c = run.raw_loss
    assert loss.level == "critical" and loss.since_step is not None and c is not None
    row = min(range(len(c)), key=lambda i: abs(c.steps[i] - loss.since_step)) * N / len(c)
    assert abs(row - ONSET[kind]) <= 0.05 * N


def test_the_signals_of_verl_are_read_and_its_task_known():
    run = History("verl", [read_text(FORMATS["verl"](curve("healthy")))])
    assert run.task == "grpo"
    assert {"kl", "entropy", "reward", "grad_norm", "clipped_ratio", "completion_length", "throughput"} <= set(
        run.columns
    )


def test_ms_swift_says_its_step_and_total_in_one_word():
    for name in ("swift", "swift_jsonl"):
        run = History(name, [read_text(FORMATS[name](curve("healthy")))])
        assert run.total_steps == 300 and run.raw_loss is not None and run.raw_loss.steps[:2] == [5, 10]
        assert {"token_accuracy", "gpu_memory", "throughput"} <= set(run.columns)


def test_a_counter_that_begins_again_with_each_epoch_is_continued():
    text = "\n".join(
        f"Epoch: [{e}][ {i:4d}/200]\tLoss {2 - e / 10:.4e} (2.0)" for e in range(3) for i in range(0, 200, 10)
    )
    run = History("imagenet", [read_text(text)])
    assert run.raw_loss is not None and run.raw_loss.steps[-1] == 590 and len(run.raw_loss) == 60


def test_a_counter_that_goes_on_over_the_epochs_is_taken_as_it_is():
    text = "\n".join(f"epoch {1 + s // 100}, step {s}/600, loss: {2 - s / 1000:.3f}" for s in range(10, 601, 10))
    run = History("loop", [read_text(text)])
    assert run.raw_loss is not None and run.raw_loss.steps[-1] == 600


def test_a_skipped_window_of_megatron_is_no_nan():
    """Older versions print no `lm loss` for a window in which fp16 skipped every step."""
    row = " iteration {i:8d}/     200 | elapsed time per iteration (ms): 500.0 | learning rate: 1.0E-04 | {loss}loss scale: {scale} | grad norm: 0.9 | number of skipped iterations: {skipped:3d} | number of nan iterations:   0 |"
    rows = [
        row.format(
            i=i, loss="" if i % 50 == 0 else f"lm loss: {3 - i / 200:.6E} | ", scale=65536.0, skipped=int(i % 50 == 0)
        )
        for i in range(1, 121)
    ]
    found = judge(History("m", [read_text("\n".join(rows))]))
    assert found.level == "normal", [v.says for v in found.verdicts]


@pytest.mark.parametrize("text", ["nan", "NaN", "-nan", "inf", "-inf", "Infinity", "1.#QNAN"])
def test_numbers_that_no_json_has_are_read_in_json_lines(text):
    rows = [f'{{"step": {i}, "loss": {2 - i / 100:.2f}}}' for i in range(1, 31)] + [
        f'{{"step": {i}, "loss": {text}}}' for i in range(31, 36)
    ]
    table = read_text("\n".join(rows))
    assert table.skipped_lines == 0 and not math.isfinite(table.columns["loss"].values[-1])


def test_two_losses_of_one_line_are_two():
    text = "\n".join(
        f"step {i} total loss={2 - i / 100:.3f} spectro loss=1.0 vocoder loss={1 - i / 100:.3f}" for i in range(1, 60)
    )
    run = History("x", [read_text(text)])
    assert run.raw_loss is not None and run.raw_loss.raw == "total loss"


def test_a_loss_without_a_lower_bound_that_runs_away_is_critical():
    text = "\n".join(f"step {i} loss={1.0 if i < 30 else -(3.0 ** (i - 25)):.1f}" for i in range(1, 60))
    assert judge(History("x", [read_text(text)])).level == "critical"
