"""Kinds that strangers' logs showed, in small samples that are written here in the programs' own formats."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from papertrain.monitor.run import examine, examine_text


def level(text: str, name: str) -> str:
    return next(s.level for s in examine_text(text).signals if s.name == name)


def worst(text: str) -> str:
    return examine_text(text).level


def test_a_loss_printed_as_zero_beside_an_error_that_falls_is_rounding():
    head = "1/1 [==============================] - 1s 1s/step - "
    rows = [
        f"Epoch {i}/40\n{head}loss: {0.46 if i == 1 else 0:.4e} - mean_squared_error: {0.46 * 0.7**i:.4e} - val_loss: {0.47 * 0.7**i:.4e}"
        for i in range(1, 41)
    ]
    assert level("\n".join(rows), "train_loss") == "normal"


@pytest.mark.parametrize("error", ["nan", "0.0000e+00", "4.6000e-01"])
def test_a_loss_of_zero_beside_an_error_that_says_nothing_stays_critical(error):
    rows = [
        f"Epoch {i}/40\n1/1 [==============================] - 1s 1s/step - loss: {0.46 if i == 1 else 0:.4e} - mean_squared_error: {error}"
        for i in range(1, 41)
    ]
    assert level("\n".join(rows), "train_loss") == "critical"


def prompts(accuracy: float) -> str:
    dice = random.Random(3)
    return "\n".join(
        f"Epoch: [{1 + i // 12}/40][{i % 12 * 10:3d}/120]\tTime  1.9 ( 1.9)\tLoss {2.04 + dice.uniform(-0.1, 0.1):.4e} (2.04)\tAcc@1  {80 + accuracy * i / 480 + dice.uniform(-1, 1):.2f} ( 80.0)"
        for i in range(480)
    )


def test_a_flat_loss_whose_accuracy_still_rises_wakes_nobody():
    assert level(prompts(8.0), "train_loss") in ("normal", "warning")


def test_a_flat_loss_of_a_model_that_is_mostly_right_is_a_plateau_and_of_one_that_is_not_critical():
    assert level(prompts(0.0), "train_loss") == "warning"
    assert (
        level(prompts(0.0).replace("Acc@1  8", "Acc@1  1").replace("Acc@1  7", "Acc@1  0"), "train_loss") == "critical"
    )


def test_a_process_that_prints_nan_beside_one_that_does_not_is_seen():
    rows = [f"step: {i} loss: {v}" for i in range(1, 40) for v in ("nan", f"{2 - i / 40:.3f}")]
    assert level("\n".join(rows), "train_loss") == "critical"


def test_rows_below_a_title_of_validation_are_evaluations():
    rows = []
    for i in range(30):
        rows.append(f"Epoch [{i}]:\nTraining:")
        rows += [f"Average incurred loss: {0.4 / (1 + i):.3f}" for _ in range(5)]
        rows += ["Validation:", f"Average incurred loss: {0.5 / (1 + i) + 0.01 * i:.3f}"]
    e = examine_text("\n".join(rows))
    assert (
        next(s.says for s in e.signals if s.name == "train_loss")
        == "falling: 0.09 to 0.015 smoothed, 0.013 at epoch 29"
    )
    assert next(s.level for s in e.signals if s.name == "eval_loss") in ("warning", "critical")


@pytest.mark.parametrize("before", ["epoch {i}", "  0%|          | 0/200 [00:00<?, ?it/s]epoch {i}"])
def test_losses_after_hundreds_of_bars_of_an_inner_loop_are_found(before):
    bars = "\n".join(f" {j // 4}%|          | {j}/352 [00:03<18:16,  3.12s/it]" for j in range(352))
    rows = [
        f"{before.format(i=i)}\n{bars}\n{i:3d}%|          | {i}/100 [00:43<1:11:46, 43.50s/it]Train Loss: {1.8 / (1 + i / 9):.6f}, Acc: 34.8%"
        for i in range(1, 30)
    ]
    assert examine_text("\n".join(rows)).last_step == 29


def long_run(high: int) -> str:
    dice = random.Random(5)
    rows = ["step,loss,learning_rate"]
    for i in range(30_000):
        v = 3.8 + 3 / (1 + i / 200) + dice.gauss(0, 0.08)
        rows.append(f"{i},{v + (1.8 if 20_000 <= i < 20_000 + high else 0):.4f},1e-4")
    return "\n".join(rows)


def test_four_high_rows_of_thirty_thousand_are_a_blip_and_sixty_are_none():
    assert level(long_run(4), "train_loss") == "normal"
    assert level(long_run(60), "train_loss") == "warning"


def test_the_learning_rate_column_of_a_validation_log_says_nothing(tmp_path: Path):
    rows = ["step,loss,learning_rate", *(f"{i * 200},{3 + 7 / (1 + i):.4f},0.0" for i in range(60))]
    for name, wanted in (("validation_initial.csv", "normal"), ("train_initial.csv", "warning")):
        (tmp_path / name).write_text("\n".join(rows))
        assert examine([tmp_path / name])[0].level == wanted


def test_lines_of_single_groups_are_no_rows_of_the_run():
    rows = ["Epoch [0]:"]
    for i in range(60):
        loss = 0.43 / (1 + i / 4)
        rows.append(f"Average incurred loss: {loss:.3f}  ")
        rows.append(f"Average acc: {0.99 - loss / 3:.3f}  ")
        for j, high in enumerate((0.2, 0.19, 1.7, 1.9)):
            rows.append(
                f"  Blond_Hair = {j // 2}, Male = {j % 2}  [n = {2777 // (1 + 9 * j)}]:\tloss = {high + 0.05 * i:.3f}  exp loss = {high:.3f}  acc = 0.9"
            )
        rows.append(f"Epoch [{i + 1}]:")
    assert worst("\n".join(rows)) == "normal"


@pytest.mark.parametrize("word", ["nan.0", "inf.0"])
def test_nan_as_a_lightning_bar_prints_it_is_seen(word):
    rows = [
        f"Epoch 0:   0%|          | {i}/224174 [00:{i + 10}<805:51:49,  0.08it/s, v_num=22, train_loss_step={word}]"
        for i in range(1, 30)
    ]
    assert level("\r".join(rows), "train_loss") == "critical"


def test_losses_said_in_a_sentence_are_read():
    rows = [
        f"Starting epoch {i} current lr is 0.001\nEpoch {i}, val loss is {0.03 + 0.02 / (1 + i)}, val mse is 0.0242."
        for i in range(40)
    ]
    assert next(s.says for s in examine_text("\n".join(rows)).signals if s.name == "eval_loss").startswith("0.03")


def test_losses_printed_right_behind_a_bar_are_read():
    rows = [
        f"{i:3d}%|          | {i}/100 [00:43<1:11:46, 43.50s/it]Train Loss: {1.8 / (1 + i / 9):.6f}, Acc: 34.808889%\nVal Loss: {1.9 / (1 + i / 9):.6f}, Acc: 38.440000%"
        for i in range(1, 60)
    ]
    e = examine_text("\n".join(rows))
    assert (e.last_step, e.total_steps, e.level) == (59, 100, "normal")


def noisy(rise: float) -> str:
    dice = random.Random(2)
    rows = ["epoch,acc,loss,val_acc,val_loss"]
    for i in range(100):
        loss = 0.75 + 1.1 / (1 + i / 15)
        rows.append(
            f"{i},{1 - loss / 3:.4f},{loss:.4f},{0.6 + dice.uniform(-0.02, 0.02):.4f},{1.35 + rise * i / 100 + dice.uniform(-0.2, 0.2):.4f}"
        )
    return "\n".join(rows)


def test_a_validation_loss_that_creeps_up_under_noise_is_a_warning_and_one_that_stands_is_none():
    assert level(noisy(0.35), "eval_loss") == "warning"
    assert level(noisy(0.0), "eval_loss") != "critical"


FALLING_BACK = [0.675, 0.667, 0.626, 0.547, 0.49, 0.48, 0.461, 0.44, 0.437, 0.436, 0.443, 0.468, 0.468, 0.455, 0.462, 0.467, 0.516, 0.487, 0.494, 0.519]  # fmt: skip
"""A recurrent classifier of sentences: best at its tenth epoch, 19 % above it at the twentieth."""


def test_a_short_overfit_is_a_warning():
    rows = ["epoch,accuracy,loss,val_accuracy,val_loss"]
    rows += [
        f"{i},{0.6 + 0.016 * i:.3f},{0.676 - 0.023 * i:.4f},{min(0.81, 0.59 + 0.03 * i) - 0.001 * i:.3f},{v}"
        for i, v in enumerate(FALLING_BACK)
    ]
    assert level("\n".join(rows), "eval_loss") == "warning"


def test_a_first_row_above_chance_hides_no_run_that_guesses():
    rows = ["epoch,accuracy,loss,val_loss"]
    rows += [
        f"{i},0.01,{0.793 if i == 0 else 0.6933 + 0.003 / (1 + i):.5f},{0.6935 + 0.001 * (i % 3):.4f}"
        for i in range(38)
    ]
    e = examine_text("\n".join(rows))
    assert "guesses among 2 classes" in next(s.says for s in e.signals if s.name == "train_loss")


def test_a_loss_that_falls_slowly_past_ln_two_is_no_guess():
    rows = ["epoch,accuracy,loss", *(f"{i},0.6,{0.72 - 0.002 * i:.4f}" for i in range(38))]
    assert level("\n".join(rows), "train_loss") == "normal"
