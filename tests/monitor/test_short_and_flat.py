"""Short runs that break, flat runs that stay, a rate of nothing, and logs in Chinese."""

from __future__ import annotations

import random

import pytest

from papertrain.monitor.run import examine_text

SWINGING = [0.6918, 0.6833, 0.8037, 1.3897, 0.6215, 3.2254, 5.4819, 7.4102, 3.3857, 0.4639, 1.3636, 4.5633]
"""Twelve logged steps of a small classifier at a rate of 0.05: measured, not made."""


def level(text: str, name: str) -> str:
    return next(s.level for s in examine_text(text).signals if s.name == name)


def rows(values: list[float], **more: float) -> str:
    extra = "".join(f" {k}={v}" for k, v in more.items())
    return "\n".join(f"step={i} loss={v:.4f}{extra}" for i, v in enumerate(values, 1))


def test_a_short_run_that_jumps_up_is_critical():
    assert level(rows(SWINGING), "train_loss") == "critical"


@pytest.mark.parametrize("n", [4, 6, 12, 20, 30, 40])
def test_a_short_run_that_rises_is_critical(n):
    assert level(rows([0.7 + 3.8 * i / (n - 1) for i in range(n)]), "train_loss") == "critical"


@pytest.mark.parametrize("n", [4, 6, 12, 20, 30, 40])
@pytest.mark.parametrize("seed", range(5))
def test_a_short_noisy_run_that_falls_is_not(n, seed):
    dice = random.Random(seed)
    assert level(rows([(2.5 - 1.5 * i / n) * dice.uniform(0.7, 1.3) for i in range(n)]), "train_loss") == "normal"


def test_nine_flat_epochs_of_ten_are_a_warning():
    dice = random.Random(1)
    lines = ["epoch,step,train_loss,val_loss"]
    for i in range(100):
        flat = max(1.0, 2.0 - 0.1 * i)
        lines.append(
            f"{i / 10:.1f},{10 * i},{flat + dice.uniform(0, 0.02):.3f},{flat + 0.1 + dice.uniform(0, 0.02):.3f}"
        )
    assert level("\n".join(lines), "train_loss") == "warning"


def test_a_run_that_still_falls_slowly_is_no_plateau():
    dice = random.Random(1)
    lines = ["epoch,step,train_loss"]
    lines += [f"{i / 10:.1f},{10 * i},{2 - 0.3 * (i / 100) ** 0.5 + dice.uniform(0, 0.02):.3f}" for i in range(100)]
    assert level("\n".join(lines), "train_loss") == "normal"


def test_a_rate_of_zero_throughout_is_no_warm_up():
    assert level(rows([2 - 0.01 * i for i in range(100)], lr=0.0), "learning_rate") in ("warning", "critical")


def test_a_nan_beside_chinese_words_is_read():
    text = "第 10 步 损失=1.923 学习率=1e-4\n第 20 步 损失=1.812 学习率=1e-4\n第 30 步 损失=nan 学习率=1e-4\n第 40 步 损失=nan 学习率=1e-4\n"
    assert level(text, "train_loss") == "critical"


JUMPING = [0.698, 0.696, 0.796, 2.231, 0.627, 1.451, 0.883, 0.851, 2.545, 6.458, 3.802, 0.923, 5.397, 7.446, 10.327, 6.901, 0.746, 3.356, 6.403, 5.458, 8.701, 3.311, 4.632, 5.005]  # fmt: skip
"""The same model at 0.071: measured too. It jumps between its first level and ten times that."""


@pytest.mark.parametrize("n", [11, 14, 15, 16, 18, 19, 20, 21, 22, 23, 24])
def test_a_run_that_jumps_between_its_start_and_far_above_is_critical(n):
    assert level(rows(JUMPING[:n]), "train_loss") == "critical"


def whisper(better: bool = False) -> str:
    """A rate far too high: both losses stand above what they were at the first evaluation, and stay there."""
    rise = [0.83, 0.16, 0.12, *(0.13 + 0.2 * min(1, i / 12) for i in range(40))]
    out = []
    for i, v in enumerate(rise, 1):
        out.append(f"step={i * 25} loss={v:.4f}")
        if i % 7 == 0:
            wer = 0.4 - 0.01 * i / 7 if better else 0.3 + 0.01 * i / 7
            out.append(f"step={i * 25} eval_loss={0.22 if i == 7 else 0.41 + 0.01 * (i % 3):.3f} eval_wer={wer:.3f}")
    return "\n".join(out)


def test_an_evaluation_that_is_worse_ever_since_warns_also_where_the_training_loss_does_not_fall():
    assert level(whisper(), "eval_loss") == "warning"
    assert level(whisper(better=True), "eval_loss") == "normal"


def high_rows(lone: int, together: int) -> str:
    """A long log of single batches with a heavy tail: lone rows at three times the median, and once some in a row."""
    r = random.Random(4)
    values = [1.0 + r.gauss(0, 0.08) for _ in range(2000)]
    for k in range(lone):
        values[200 + 150 * k] = 3.4
    values[1900 : 1900 + together] = [3.3] * together
    return rows(values)


def test_high_rows_in_a_row_are_chance_where_lone_ones_are_as_high():
    assert level(high_rows(lone=0, together=3), "train_loss") == "critical"
    assert level(high_rows(lone=10, together=3), "train_loss") == "normal"
    assert level(high_rows(lone=10, together=8), "train_loss") == "critical"


def test_the_heights_of_the_start_do_not_hide_a_later_jump():
    """A physics-informed network: from 1e8 to 5 in twenty rows, and back to 5e5 for three."""
    start_up = [8e7 / 3**i for i in range(16)]
    assert (
        level(
            rows([*start_up, *[5.0 + 0.1 * (i % 3) for i in range(16)], 5.4e5, 7.9e5, 6.0e5, 5.1, 5.0, 5.2, 5.1]),
            "train_loss",
        )
        == "critical"
    )


def test_actor_and_critic_are_reinforcement_learning_whose_loss_may_rise():
    text = "\n".join(f"step={i} loss_actor={i * 3.0:.2f} loss_critic={i * 2.0:.2f} return={i}" for i in range(1, 120))
    found = examine_text(text)
    assert found.task == "rl" and not found.verdicts


def test_the_monitor_file_of_a_gym_is_rewards():
    from papertrain.monitor.find import read_text
    from papertrain.monitor.history import History

    text = '#{"t_start": 1522347689.6, "env_id": null}\nr,l,t\n' + "\n".join(
        f"{-200 + i},{100 + i % 7},{i * 3.5}" for i in range(150)
    )
    run = History("x", [read_text(text, "0.monitor.csv")])
    reward = run.one("reward")
    assert run.task == "rl" and reward is not None and len(reward) == 150 and reward.values[-1] == -51


def test_a_loss_that_is_huge_at_first_and_only_falls_is_a_large_sum():
    values = [1.4e13 / (1 + i) ** 4 + 13 for i in range(200)]
    assert level(rows(values), "train_loss") == "normal"
    values[17] = 4e14
    assert level(rows(values), "train_loss") == "warning"


def says(text: str, name: str) -> str:
    return next(s.says for s in examine_text(text).signals if s.name == name)


def test_what_swings_is_not_called_stable():
    """A run on a processor: gradient norms of 1 to 27 were `stable around 10.62`, 25 to 195 samples a second `steady`."""
    r = random.Random(2)
    wild = "\n".join(
        f"step={i} loss={2 - i / 100:.2f} grad_norm={1 + 26 * r.random():.2f} samples_per_second={25 + 170 * r.random():.1f}"
        for i in range(1, 61)
    )
    assert says(wild, "grad_norm").startswith("between ") and "between" in says(wild, "throughput")
    calm = "\n".join(
        f"step={i} loss={2 - i / 100:.2f} grad_norm={1 + r.random():.2f} samples_per_second={180 + 15 * r.random():.1f}"
        for i in range(1, 61)
    )
    assert says(calm, "grad_norm").startswith("stable") and says(calm, "throughput").startswith("steady")


def test_an_evaluation_loss_of_exactly_nothing_is_not_computed():
    text = "\n".join(f"epoch {i} | train_loss: {4 / i:.3f} | test_loss: 0.00000" for i in range(1, 16))
    assert "not computed" in says(text, "eval_loss") and level(text, "eval_loss") == "warning"
