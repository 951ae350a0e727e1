"""Healthy runs of many shapes: what a watch that never cries wolf has to stay quiet on."""

from __future__ import annotations

import math
from collections.abc import Callable
from math import inf, nan

from monitor_runs import Row, Run


def falling(run: Run) -> list[Row]:
    return run.rows()


def power_law(run: Run) -> list[Row]:
    a, b = run.r.uniform(0.05, 0.3), run.start * 3
    run.loss = lambda x: b * (x * 200 + 1) ** -a  # type: ignore[method-assign]
    run.noise = 0.01 * b
    return run.rows()


def from_scratch(run: Run) -> list[Row]:
    run.loss = lambda x: 3.2 + 7.6 * math.exp(-x / 0.02) + 1.2 * math.exp(-x / 0.3)  # type: ignore[method-assign]
    run.noise = run.r.uniform(0.02, 0.15)
    return run.rows()


def staircase(run: Run) -> list[Row]:
    run.epochs = run.r.choice((2, 3, 4, 5))
    levels = [run.start * run.r.uniform(0.55, 0.75) ** k for k in range(run.epochs + 1)]
    run.loss = lambda x: levels[min(run.epochs - 1, int(x * run.epochs))] + 0.6 * run.start * math.exp(-x / 0.02)  # type: ignore[method-assign]
    run.noise = 0.03 * levels[-1]
    rows = run.rows()
    for row in rows:
        row.pop("eval_loss", None)
    return rows


def rising_inside_epochs(run: Run) -> list[Row]:
    run.epochs = run.r.choice((3, 4, 6))
    levels = [run.start * 0.75**k for k in range(run.epochs + 1)]
    run.loss = lambda x: levels[min(run.epochs - 1, int(x * run.epochs))] * (1 + 0.06 * (x * run.epochs % 1))  # type: ignore[method-assign]
    rows = run.rows()
    for row in rows:
        row.pop("eval_loss", None)
    return rows


def one_spike(run: Run) -> list[Row]:
    rows = run.rows()
    i = run.r.randrange(len(rows) // 3, len(rows) - 2)
    rows[i]["loss"] *= run.r.uniform(1.6, 4)
    rows[i]["grad_norm"] *= run.r.uniform(3, 30)
    return rows


def lone_norm_spikes(run: Run) -> list[Row]:
    rows = run.rows()
    for _ in range(run.r.choice((1, 2, 3))):
        rows[run.r.randrange(len(rows) // 4, len(rows))]["grad_norm"] *= run.r.uniform(10, 40)
    return rows


def restarts(run: Run) -> list[Row]:
    cycles = run.r.choice((2, 3, 4))
    run.rate = lambda x: run.peak * (0.5 + 0.5 * math.cos(math.pi * (x * cycles % 1)))  # type: ignore[method-assign]
    base = run.loss
    run.loss = lambda x: base(x) * (1 + (0.08 * math.exp(-(x * cycles % 1) / 0.1) if x * cycles > 1 else 0))  # type: ignore[method-assign]
    return run.rows()


def warm_up_bump(run: Run) -> list[Row]:
    run.warm = 0.1
    base = run.loss
    run.loss = lambda x: base(x) + run.start * 0.25 * math.exp(-(((x - 0.08) / 0.03) ** 2))  # type: ignore[method-assign]
    return run.rows()


def resumed(run: Run) -> list[Row]:
    rows = run.rows()
    k = run.r.randrange(len(rows) // 3, len(rows) - 5)
    back = run.r.randrange(3, max(4, len(rows) // 8))
    again = [dict(row, loss=row["loss"] + run.r.gauss(0, run.noise / 4)) for row in rows[max(0, k - back) : k]]
    return rows[:k] + again + rows[k:]


def two_writers(run: Run) -> list[Row]:
    rows = run.rows()
    found = []
    for i, row in enumerate(rows):
        found.append(row)
        if i >= 2:
            found.append(dict(rows[i - 2], loss=rows[i - 2]["loss"] + run.r.gauss(0, 1e-4)))
    return found


def two_runs(run: Run) -> list[Row]:
    first = run.rows()
    return first[: run.r.randrange(10, len(first))] + run.rows()


def bf16_grid(run: Run) -> list[Row]:
    rows = run.rows()
    for row in rows:
        for key in ("loss", "grad_norm"):
            exponent = math.floor(math.log2(abs(row[key]) or 1))
            row[key] = round(row[key] / 2 ** (exponent - 7)) * 2.0 ** (exponent - 7)
    return rows


def length_grouped(run: Run) -> list[Row]:
    period = run.r.choice((5, 6, 7))
    rows = run.rows()
    for i, row in enumerate(rows):
        row["loss"] *= 1 + 0.35 * math.sin(2 * math.pi * i / period)
    return rows


def batch_of_one(run: Run) -> list[Row]:
    rows = run.rows()
    for i, row in enumerate(rows):
        row["loss"] = run.loss((i + 1) / len(rows)) * math.exp(run.r.gauss(0, 0.4))
    return rows


def fp16_start(run: Run) -> list[Row]:
    rows = run.rows()
    for row in rows[: run.r.choice((1, 2, 3, 5))]:
        row["grad_norm"] = run.r.choice((inf, nan))
        row["lr"] = 0.0
    for i in range(20, len(rows), max(30, len(rows) // 3)):
        rows[i]["grad_norm"] = inf
    for i, row in enumerate(rows):
        row["loss_scale"] = 2.0 ** max(13, 16 - i) * (2 if i % 40 > 35 else 1)
    return rows


def dpo(run: Run) -> list[Row]:
    r, n = run.r, run.points
    end = r.uniform(0.3, 0.62)
    found: list[Row] = []
    for i in range(1, n + 1):
        x = i / n
        loss = end + (0.6931 - end) * math.exp(-max(0.0, x - run.warm) / 0.3)
        found.append({"step": i * run.every, "epoch": x, "loss": loss + r.gauss(0, 0.03), "lr": run.rate(x), "grad_norm": 3 * math.exp(r.gauss(0, 0.3)),
                      "rewards/margins": 3 * (0.6931 - loss) + r.gauss(0, 0.05), "rewards/accuracies": min(1, 0.5 + 2 * (0.6931 - loss) + r.gauss(0, 0.05)),
                      "rewards/chosen": 0.1 - (0.6931 - loss) + r.gauss(0, 0.05)})  # fmt: skip
    return found


def grpo(run: Run) -> list[Row]:
    r, n = run.r, run.points
    low, high = r.uniform(0.05, 0.3), r.uniform(0.35, 0.8)
    found: list[Row] = []
    for i in range(1, n + 1):
        x = i / n
        found.append({"step": i * run.every, "loss": r.choice((0.0, r.gauss(0, 0.002))), "lr": run.rate(x), "grad_norm": r.choice((0.0, abs(r.gauss(0.1, 0.05)), 0.2)),
                      "reward": low + (high - low) * x + r.gauss(0, 0.12), "reward_std": abs(r.gauss(0.3, 0.05)), "frac_reward_zero_std": min(1, max(0, r.gauss(0.35, 0.15))),
                      "kl": 0.25 * x + abs(r.gauss(0, 0.02)), "entropy": 0.4 - 0.15 * x + r.gauss(0, 0.03), "completions/clipped_ratio": max(0, r.gauss(0.08, 0.05))})  # fmt: skip
    return found


def ppo(run: Run) -> list[Row]:
    r, n = run.r, run.points
    return [{"step": i * run.every, "objective/kl": 8 * i / n + abs(r.gauss(2, 1)), "objective/rlhf_reward": -1 + 4 * i / n + r.gauss(0, 0.6), "loss/policy_avg": r.gauss(0, 0.01),
             "loss/value_avg": abs(r.gauss(0.2, 0.1)), "policy/approxkl_avg": abs(r.gauss(0.01, 0.005)), "val/ratio": r.gauss(1, 0.02), "lr": run.rate(i / n)} for i in range(1, n + 1)]  # fmt: skip


def gan(run: Run) -> list[Row]:
    r, n = run.r, run.points
    return [
        {
            "step": i * run.every,
            "g_loss": 1 + 3 * i / n + abs(r.gauss(0, 0.8)),
            "d_loss": 0.6 - 0.3 * i / n + abs(r.gauss(0, 0.2)),
            "loss": 2 + 2 * i / n + r.gauss(0, 0.8),
        }
        for i in range(1, n + 1)
    ]


def memorising(run: Run) -> list[Row]:
    run.epochs = run.r.choice((10, 20, 30))
    run.loss = lambda x: 0.004 + run.start * math.exp(-x / 0.06)  # type: ignore[method-assign]
    rows = run.rows()
    for row in rows:
        row["loss"] = run.loss(row["epoch"] / run.epochs) * math.exp(run.r.gauss(0, 0.5))
        row.pop("eval_loss", None)
    return rows


def few_points(run: Run) -> list[Row]:
    run.points = run.r.randrange(5, 25)
    run.every = 500
    run.eval_every = 2
    return run.rows()


def first_steps(run: Run) -> list[Row]:
    rows = run.rows()
    return rows[: run.r.randrange(3, max(4, len(rows) // 10))]


def train_above_eval(run: Run) -> list[Row]:
    rows = run.rows()
    for row in rows:
        if "eval_loss" in row:
            row["eval_loss"] *= 0.7
    return rows


def noisy_eval(run: Run) -> list[Row]:
    run.eval_every = max(1, run.points // 40)
    rows = run.rows()
    for row in rows:
        if "eval_loss" in row:
            row["eval_loss"] *= math.exp(run.r.gauss(0, 0.05))
    return rows


def mild_overfit(run: Run) -> list[Row]:
    """Within 3 % of the best: how a well-stopped run ends."""
    rows = run.rows()
    for i, row in enumerate(rows):
        if "eval_loss" in row:
            row["eval_loss"] = (
                run.floor * 1.1
                + (run.start - run.floor) * math.exp(-i / len(rows) / run.speed)
                + 0.02 * run.floor * i / len(rows)
            )
    return rows


def converged(run: Run) -> list[Row]:
    """Trained to its end with a decaying rate: flat late, and rightly so."""
    run.decay, run.epochs, run.noise = "cosine", 6, 0.002 * run.floor
    run.loss = lambda x: run.floor + (run.start - run.floor) * (0.5 + 0.5 * math.cos(math.pi * x)) * math.exp(-x / 0.4)  # type: ignore[method-assign]
    return run.rows()


def telemetry_with_pauses(run: Run) -> list[Row]:
    rows = run.rows()
    for i, row in enumerate(rows):
        pause = i % 40 < 3
        row["utilization.gpu/0"] = 0 if pause else min(100, run.r.gauss(95, 3))
        row["memory.percent/0"] = 60 + run.r.random()
        row["tokens_per_second"] = 3000 * (0.2 if pause else 1) * math.exp(run.r.gauss(0, 0.03))
        row["gpu_memory_gb"] = 40 + min(8, i * 0.2)
    return rows


HEALTHY: tuple[Callable[[Run], list[Row]], ...] = (
    falling, power_law, from_scratch, staircase, rising_inside_epochs, one_spike, lone_norm_spikes, restarts, warm_up_bump, resumed, two_writers, two_runs,
    bf16_grid, length_grouped, batch_of_one, fp16_start, dpo, grpo, ppo, gan, memorising, few_points, first_steps, train_above_eval, noisy_eval, mild_overfit,
    converged, telemetry_with_pauses,
)  # fmt: skip
