"""Runs with one planted fault: (maker, level that must be reached, signal). A maker gives the rows and where the fault begins."""

from __future__ import annotations

import math
from collections.abc import Callable
from math import nan

from monitor_healthy import dpo, grpo
from monitor_runs import Row, Run


def onset(run: Run, low: float = 0.35, high: float = 0.8) -> int:
    return int(run.points * run.r.uniform(low, high))


def lowest(values: list[float], k: int) -> int:
    """A rise that is laid over a fall begins where the sum is lowest."""
    return min(range(k, len(values)), key=values.__getitem__)


def first_evaluation(rows: list[Row], k: int) -> int:
    return next((i for i in range(k, len(rows)) if "eval_loss" in rows[i]), k)


def loss_nan(run: Run) -> tuple[list[Row], int]:
    rows, k = run.rows(), onset(run, 0.05, 0.95)
    for row in rows[k:]:
        row["loss"] = row["grad_norm"] = nan
    return rows, k


def hidden_nan(run: Run) -> tuple[list[Row], int]:
    rows, k = run.rows(), onset(run, 0.05, 0.95)
    for row in rows[k:]:
        row["loss"], row["grad_norm"] = 0.0, nan
    return rows, k


def hidden_nan_without_norm(run: Run) -> tuple[list[Row], int]:
    rows, k = run.rows(), onset(run, 0.05, 0.9)
    for row in rows:
        del row["grad_norm"]
    for row in rows[k:]:
        row["loss"] = 0.0
    return rows, k


def diverges(run: Run) -> tuple[list[Row], int]:
    rows, k = run.rows(), onset(run)
    span = len(rows) - k
    rise = run.r.uniform(1.0, 4.0) * run.start
    for j, row in enumerate(rows[k:]):
        row["loss"] += rise * (j + 1) / span
        row["grad_norm"] *= 1 + 10 * (j + 1) / span
    return rows, k


def jumps_and_stays(run: Run) -> tuple[list[Row], int]:
    rows, k = run.rows(), onset(run, 0.3, 0.9)
    for row in rows[k:]:
        row["loss"] = run.start * run.r.uniform(1.7, 2.2) + row["loss"] * 0.1 + 0.5
    return rows, k


def creeps_up(run: Run) -> tuple[list[Row], int]:
    run.noise = min(run.noise, 0.04 * run.floor)
    run.epochs = run.r.choice((3, 5))
    rows, k = run.rows(), onset(run, 0.25, 0.4)
    gain = run.start - run.floor
    for j, row in enumerate(rows[k:]):
        row["loss"] += 0.45 * gain * (j + 1) / (len(rows) - k) + 0.08 * run.floor * (j + 1) / (len(rows) - k)
        row.pop("eval_loss", None)
    n = len(rows)
    clean = [run.loss((i + 1) / n) + (0.45 * gain + 0.08 * run.floor) * max(0, i + 1 - k) / (n - k) for i in range(n)]
    return rows, lowest(clean, k)


def explodes_at_start(run: Run) -> tuple[list[Row], int]:
    rows = run.rows()
    for i, row in enumerate(rows):
        row["loss"] = run.start * min(6 + run.r.random(), 1.6 ** min(i, 10))
        row["grad_norm"] *= 50
    return rows, 2


def long_spike(run: Run) -> tuple[list[Row], int]:
    rows, k = run.rows(), onset(run, 0.4, 0.85)
    length = max(4, run.points // 40)
    for j, row in enumerate(rows[k : k + length]):
        row["loss"] = max(row["loss"], run.floor) * 3 * (1 - 0.5 * j / length) + 0.6
        row["grad_norm"] *= 20
    return rows, k


def plateau(run: Run) -> tuple[list[Row], int]:
    run.epochs, run.noise, run.decay = run.r.choice((5, 6, 8)), 0.01 * run.floor, "constant"
    run.points = run.r.choice((400, 800, 1500))
    run.loss = lambda x: run.floor + (run.start - run.floor) * math.exp(-x / 0.03)  # type: ignore[method-assign]
    rows = run.rows()
    for row in rows:
        row.pop("eval_loss", None)
    return rows, next(i for i in range(len(rows)) if run.loss(i / len(rows)) < 1.005 * run.floor)


def never_learns(run: Run) -> tuple[list[Row], int]:
    level = run.r.choice((math.log(2), math.log(4), 2.3, 3.4, 10.8))
    run.loss = lambda x: level  # type: ignore[method-assign]
    run.noise = 0.01 * level
    return run.rows(), 0


def overfits(run: Run) -> tuple[list[Row], int]:
    run.epochs = 5
    run.eval_every = max(1, run.points // 12)
    rows, k = run.rows(), onset(run, 0.3, 0.5)
    for i, row in enumerate(rows):
        if "eval_loss" in row and i >= k:
            row["eval_loss"] += run.floor * run.r.uniform(0.9, 1.1) * 0.6 * (i - k) / (len(rows) - k)
    return rows, turn(run, rows, k, 0.6)


def overfits_double(run: Run) -> tuple[list[Row], int]:
    run.epochs = 10
    run.eval_every = max(1, run.points // 15)
    rows, k = run.rows(), onset(run, 0.2, 0.4)
    for i, row in enumerate(rows):
        if "eval_loss" in row and i >= k:
            row["eval_loss"] += run.floor * 2.0 * (i - k) / (len(rows) - k)
    return rows, turn(run, rows, k, 2.0)


def turn(run: Run, rows: list[Row], k: int, height: float) -> int:
    """The evaluation after the one at which the planted rise outweighs the fall."""
    n = len(rows)
    clean = [1.06 * run.loss((i + 1) / n) + run.floor * height * max(0, i - k) / (n - k) for i in range(n)]
    at = [i for i in range(n) if "eval_loss" in rows[i]]
    best = min(at, key=lambda i: clean[i])
    return next((i for i in at if i > best), best)


def eval_nan(run: Run) -> tuple[list[Row], int]:
    rows, k = run.rows(), onset(run, 0.2, 0.6)
    for row in rows[k:]:
        if "eval_loss" in row:
            row["eval_loss"] = nan
    return rows, first_evaluation(rows, k)


def accuracy_stuck(run: Run) -> tuple[list[Row], int]:
    level = math.log(4)
    run.loss = lambda x: level  # type: ignore[method-assign]
    run.noise, run.eval_every = 0.05, max(1, run.points // 10)
    rows = run.rows()
    for row in rows:
        if "eval_loss" in row:
            row["eval_loss"] = level + run.r.gauss(0, 0.001)
            row["eval_accuracy"] = 0.2409
    return rows, first_evaluation(rows, 0)


def rate_spike(run: Run) -> tuple[list[Row], int]:
    rows, k = run.rows(), onset(run, 0.3, 0.7)
    for row in rows[k : k + run.r.choice((1, 2))]:
        row["lr"] = run.peak * run.r.uniform(5, 20)
    return rows, k


def rate_nan(run: Run) -> tuple[list[Row], int]:
    rows, k = run.rows(), onset(run)
    for row in rows[k:]:
        row["lr"] = nan
    return rows, k


def norm_nan(run: Run) -> tuple[list[Row], int]:
    rows, k = run.rows(), onset(run, 0.05, 0.9)
    for row in rows[k:]:
        row["grad_norm"] = nan
    return rows, k


def norm_zero(run: Run) -> tuple[list[Row], int]:
    rows, k = run.rows(), onset(run)
    for row in rows[k:]:
        row["grad_norm"] = 0.0
    return rows, k


def norm_stays_high(run: Run) -> tuple[list[Row], int]:
    rows, k = run.rows(), onset(run, 0.4, 0.8)
    for row in rows[k : k + max(5, run.points // 50)]:
        row["grad_norm"] = run.norm * run.r.uniform(30, 80)
    return rows, k


def scale_collapses(run: Run) -> tuple[list[Row], int]:
    rows, k = run.rows(), onset(run, 0.4, 0.8)
    for i, row in enumerate(rows):
        row["loss_scale"] = 65536.0 if i < k else max(1.0, 65536.0 / 2 ** (i - k + 1))
    return rows, k


def slows_down(run: Run) -> tuple[list[Row], int]:
    run.points = run.r.choice((250, 400, 800))
    rows, k = run.rows(), onset(run, 0.5, 0.75)
    for i, row in enumerate(rows):
        row["tokens_per_second"] = 3000 * math.exp(run.r.gauss(0, 0.03)) * (1 if i < k else run.r.uniform(0.55, 0.65))
    return rows, k


def halves(run: Run) -> tuple[list[Row], int]:
    run.points = run.r.choice((250, 400, 800))
    rows, k = run.rows(), onset(run, 0.5, 0.75)
    for i, row in enumerate(rows):
        row["tokens_per_second"] = 3000 * math.exp(run.r.gauss(0, 0.03)) * (1 if i < k else 0.35)
    return rows, k


def card_idles(run: Run) -> tuple[list[Row], int]:
    rows = run.rows()
    for row in rows:
        row["utilization.gpu/0"] = max(0, run.r.gauss(33, 8))
        row["memory.percent/0"] = 60.0
    return rows, 0


def card_waits(run: Run) -> tuple[list[Row], int]:
    rows = run.rows()
    for row in rows:
        row["utilization.gpu/0"] = min(100, run.r.gauss(65, 6))
        row["memory.percent/0"] = 60.0
    return rows, 0


def memory_leaks(run: Run) -> tuple[list[Row], int]:
    run.points = max(run.points, 100)
    rows = run.rows()
    for i, row in enumerate(rows):
        row["gpu_memory_gb"] = 30 + 30 * i / len(rows)
    return rows, 0


def grpo_no_signal(run: Run) -> tuple[list[Row], int]:
    rows, k = grpo(run), onset(run, 0.2, 0.6)
    for row in rows[k:]:
        row["frac_reward_zero_std"], row["reward_std"] = 1.0, 0.0
    return rows, k


def grpo_kl(run: Run) -> tuple[list[Row], int]:
    rows, k = grpo(run), onset(run, 0.3, 0.6)
    for j, row in enumerate(rows[k:]):
        row["kl"] += 6 * (j + 1) / (len(rows) - k)
    return rows, k


def grpo_entropy(run: Run) -> tuple[list[Row], int]:
    run.points = max(run.points, 100)
    rows, k = grpo(run), onset(run, 0.2, 0.5)
    for j, row in enumerate(rows[k:]):
        row["entropy"] = 0.35 * math.exp(-8 * (j + 1) / (len(rows) - k))
    return rows, k


def dpo_negative(run: Run) -> tuple[list[Row], int]:
    rows = dpo(run)
    for row in rows:
        row["rewards/margins"] = -abs(row["rewards/margins"]) - 0.05
        row["rewards/accuracies"] = 0.4
    return rows, 0


# ---------------------------------------------------------------- two things in one run, and faults at any place


def spike_then_rise(run: Run) -> tuple[list[Row], int]:
    """A spike that recovers is no fault: the rise long after it is."""
    rows, k = run.rows(), onset(run, 0.55, 0.85)
    j = int(run.points * run.r.uniform(0.15, 0.45))
    for row in rows[j : j + run.r.choice((1, 2))]:
        row["loss"] = 3 * run.start
    span = len(rows) - k
    for i, row in enumerate(rows[k:]):
        row["loss"] += 2 * run.start * (i + 1) / span
    return rows, k


def falls_far_then_rises(run: Run) -> tuple[list[Row], int]:
    """Back to half of the way it had come, and never above where it began."""
    run.start = run.floor * run.r.uniform(3, 6)
    rows, k = run.rows(), onset(run, 0.4, 0.8)
    span = len(rows) - k
    for i, row in enumerate(rows[k:]):
        row["loss"] += 0.75 * (run.start - run.floor) * (i + 1) / span
    return rows, k


def rises_exponentially(run: Run) -> tuple[list[Row], int]:
    rows, k = run.rows(), onset(run, 0.3, 0.8)
    span = len(rows) - k
    for i, row in enumerate(rows[k:]):
        row["loss"] += run.floor * 0.3 * (math.exp(4 * (i + 1) / span) - 1)
    return rows, k


def rises_early(run: Run) -> tuple[list[Row], int]:
    rows, k = run.rows(), onset(run, 0.1, 0.25)
    span = len(rows) - k
    for i, row in enumerate(rows[k:]):
        row["loss"] = rows[k - 1]["loss"] + 3 * run.start * (i + 1) / span + run.r.gauss(0, run.noise)
    return rows, k


def rises_late(run: Run) -> tuple[list[Row], int]:
    run.points = max(run.points, 100)
    rows, k = run.rows(), onset(run, 0.85, 0.92)
    for row in rows[k:]:
        row["loss"] = 2.2 * run.start + 0.5 + run.r.gauss(0, run.noise)
    return rows, k


def stops_falling(run: Run) -> tuple[list[Row], int]:
    """A plateau that begins at a kink, at a constant rate."""
    run.epochs, run.noise, run.decay = run.r.choice((8, 10)), 0.01 * run.floor, "constant"
    run.points = run.r.choice((400, 800, 1500))
    k = int(run.points * run.r.uniform(0.3, 0.55))
    at = k / run.points
    run.loss = lambda x: run.floor + (run.start - run.floor) * max(0.0, 1 - x / at)  # type: ignore[method-assign]
    rows = run.rows()
    for row in rows:
        row.pop("eval_loss", None)
    return rows, k


def evaluation_rests_then_rises(run: Run) -> tuple[list[Row], int]:
    run.epochs = 6
    run.points = max(run.points, 250)
    run.eval_every = max(1, run.points // 24)
    rows, k = run.rows(), onset(run, 0.5, 0.65)
    for i, row in enumerate(rows):
        if "eval_loss" in row:
            rest = run.floor * 1.3 + (run.start - run.floor) * math.exp(-i / len(rows) / 0.04)
            late = max(0, i - k) / (len(rows) - k)
            row["eval_loss"] = rest * math.exp(run.r.gauss(0, 0.004)) + 1.0 * run.floor * late
    return rows, first_evaluation(rows, k)


def card_falls_idle(run: Run) -> tuple[list[Row], int]:
    run.points = max(run.points, 250)
    rows, k = run.rows(), onset(run, 0.35, 0.6)
    for i, row in enumerate(rows):
        row["utilization.gpu/0"] = min(100, max(0, run.r.gauss(96, 2) if i < k else run.r.gauss(25, 8)))
        row["memory.percent/0"] = 60.0
    return rows, k


def leak_begins(run: Run) -> tuple[list[Row], int]:
    run.points = max(run.points, 250)
    rows, k = run.rows(), onset(run, 0.2, 0.55)
    for i, row in enumerate(rows):
        row["gpu_memory_gb"] = 30 + 30 * max(0, i - k) / len(rows) + run.r.random() * 0.1
    return rows, k


def accuracy_falls(run: Run) -> tuple[list[Row], int]:
    run.points = max(run.points, 150)
    rows, k = run.rows(), onset(run, 0.4, 0.7)
    for i, row in enumerate(rows):
        x = i / len(rows)
        row["mean_token_accuracy"] = 0.55 + 0.1 * (1 - math.exp(-x / 0.1)) + run.r.gauss(0, 0.005)
        row["mean_token_accuracy"] -= 0.25 * max(0, i - k) / (len(rows) - k)
    return rows, k


def margin_turns(run: Run) -> tuple[list[Row], int]:
    run.points = max(run.points, 150)
    rows, k = dpo(run), onset(run, 0.4, 0.7)
    for row in rows[k:]:
        row["rewards/margins"] = -abs(row["rewards/margins"]) - 0.3
    return rows, k


def rank_lags(run: Run) -> tuple[list[Row], int]:
    """One of eight ranks takes a third longer from a step on."""
    run.points = max(run.points, 150)
    rows, k = run.rows(), onset(run, 0.3, 0.7)
    for i, row in enumerate(rows):
        for rank in range(8):
            row[f"step_time/rank_{rank}"] = 0.5 * math.exp(run.r.gauss(0, 0.02)) * (1.35 if rank == 5 and i >= k else 1)
    return rows, k


def evaluation_stands(run: Run) -> tuple[list[Row], int]:
    """The evaluation loss stops falling at a kink while the training goes on at a constant rate."""
    run.epochs, run.decay = run.r.choice((6, 8)), "constant"
    run.points = max(run.points, 400)
    run.eval_every = run.points // 30
    k = int(run.points * run.r.uniform(0.3, 0.45))
    run.speed = 0.5
    rows = run.rows()
    for i, row in enumerate(rows):
        if "eval_loss" in row:
            row["eval_loss"] = (run.floor * 1.4 + run.floor * max(0.0, 1 - i / k)) * math.exp(run.r.gauss(0, 0.001))
    return rows, first_evaluation(rows, k)


FAULTS: tuple[tuple[Callable[[Run], tuple[list[Row], int]], str, str], ...] = (
    (loss_nan, "critical", "train_loss"), (hidden_nan, "critical", "train_loss"), (hidden_nan_without_norm, "critical", "train_loss"),
    (diverges, "critical", "train_loss"), (jumps_and_stays, "critical", "train_loss"), (creeps_up, "warning", "train_loss"),
    (explodes_at_start, "critical", "train_loss"), (long_spike, "critical", "train_loss"), (plateau, "warning", "train_loss"),
    (never_learns, "critical", "train_loss"), (overfits, "warning", "eval_loss"), (overfits_double, "critical", "eval_loss"), (eval_nan, "critical", "eval_loss"),
    (accuracy_stuck, "critical", ""), (rate_spike, "warning", "learning_rate"), (rate_nan, "critical", "learning_rate"), (norm_nan, "critical", "grad_norm"),
    (norm_zero, "critical", "grad_norm"), (norm_stays_high, "warning", "grad_norm"), (scale_collapses, "critical", "loss_scale"),
    (slows_down, "warning", "throughput"), (halves, "critical", "throughput"), (card_idles, "critical", "gpu_utilization"), (card_waits, "warning", "gpu_utilization"),
    (memory_leaks, "warning", "gpu_memory"), (grpo_no_signal, "critical", ""), (grpo_kl, "critical", "kl"), (grpo_entropy, "critical", "entropy"),
    (dpo_negative, "critical", "reward_margin"), (spike_then_rise, "critical", "train_loss"), (falls_far_then_rises, "critical", "train_loss"),
    (rises_exponentially, "critical", "train_loss"), (rises_early, "critical", "train_loss"), (rises_late, "critical", "train_loss"),
    (stops_falling, "warning", "train_loss"), (evaluation_rests_then_rises, "warning", "eval_loss"), (card_falls_idle, "critical", "gpu_utilization"),
    (leak_begins, "warning", "gpu_memory"), (accuracy_falls, "warning", "token_accuracy"), (margin_turns, "critical", "reward_margin"),
    (rank_lags, "warning", "throughput"), (evaluation_stands, "warning", "eval_loss"),
)  # fmt: skip
