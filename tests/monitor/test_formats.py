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
        assert run.total_steps == 1000 and run.raw_loss is not None and run.raw_loss.steps[:2] == [5, 10]
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


def test_batches_of_an_evaluation_are_no_rows_of_the_training():
    """PyTorch's ImageNet example prints `Test: [240/242]  Loss 3.27 (3.80)`; the mean of the last batch is the evaluation's."""
    run = History("x", [read_text(FORMATS["imagenet_with_test"](curve("healthy")))])
    assert run.raw_loss is not None and max(run.raw_loss.values) < 4 and len(run.evaluations[0]) == 10
    assert run.evaluations[0].values[-1] == pytest.approx(3 - 199 / 200, abs=1e-4)
    top = next(c for c in run.every("metric") if c.raw == "eval Acc@1")
    assert top.values[-1] == pytest.approx(199 / 3, abs=0.01)


def test_an_estimators_last_loss_is_its_evaluations():
    run = History("x", [read_text(FORMATS["bert_estimator"](curve("healthy")))])
    assert run.raw_loss is not None and len(run.raw_loss) == N and max(run.raw_loss.values) < 4
    assert len(run.evaluations[0]) == 1


CYCLEGAN = "================ Training Loss (Wed Oct 30 10:43:06 2024) ================\n" + "\n".join(
    f"(epoch: {1 + i // 10}, iters: {(i % 10 + 1) * 100}, time: 0.334, data: 0.002) D_A: {0.2 + i % 7 / 50:.3f} G_A: {0.4 + i % 5 / 20:.3f} cycle_A: {2 - i / 200:.3f} idt_A: 0.9 "
    for i in range(120)
)


def test_the_log_of_cyclegan_is_read_and_its_losses_say_little():
    run = History("x", [read_text(CYCLEGAN)])
    loss = next(s for s in judge(run).signals if s.name == "train_loss")
    assert run.task == "gan" and loss.level == "normal" and "D_A" in loss.says and "GAN" in loss.says
    assert run.columns["loss_part"][0][2].steps[-1] > 11_000


def test_a_network_of_two_that_is_nan_is_critical():
    ill = "\n".join(
        f"(epoch: 13, iters: {i * 100}, time: 0.3, data: 0.0) D_A: nan G_A: nan cycle_A: nan idt_A: nan"
        for i in range(1, 9)
    )
    found = judge(History("x", [read_text(CYCLEGAN + "\n" + ill)]))
    assert found.level == "critical"


def test_the_bar_of_yolo_gives_one_row_an_epoch_and_a_nan_at_once():
    text = FORMATS["yolo_console"](curve("healthy"))
    run = History("x", [read_text(text)])
    assert run.total_steps == N and len(run.one("metric") or run.one("metric_plain") or ()) == N
    begun = (
        text
        + f"\n  {N + 1:7d}/{N}      2.31G        nan      0.300      0.100        142        640:   3%|#| 1/38 [00:13<00:17,  1.23it/s]"
    )
    table = read_text(begun)
    assert math.isnan(table.columns["train/box_loss"].values[-1])


def test_a_total_that_the_steps_have_passed_is_no_total():
    """`=== Epoch 1/10 ===` above `Step: 110`: ten is the number of epochs."""
    text = "=== Epoch 1/10 ===\n" + "\n".join(f"Step: {i} | Loss: {2 - i / 100:.3f}" for i in range(1, 111))
    run = History("x", [read_text(text)])
    assert run.total_steps is None and not run.ended


def test_a_second_training_in_the_same_file_whose_epochs_begin_anew_is_another_run():
    def rows(top: float) -> list[str]:
        return [
            f"INFO - Epoch: {e}\nINFO - Iter: {i * 100} | Train Loss: {top - e / 2 - i / 40:.4f} | Dev Loss: {top - e / 2:.4f}"
            for e in range(1, 4)
            for i in range(e * 10 - 10, e * 10)
        ]

    run = History("x", [read_text("\n".join(rows(9.0) + rows(5.0)))])
    c = run.raw_loss
    assert c is not None and c.runs == 2 and max(c.values) < 5 and c.steps[-1] == 2900
    shorter = History("x", [read_text("\n".join(rows(9.0) + rows(5.0)[:20]))])
    assert shorter.last_step == 1900
    assert judge(run).level == "normal"


def test_the_best_epoch_so_far_is_not_where_the_log_stands():
    text = "\n".join(
        f"Epoch {e} | step {i}/10 | loss {3 - e / 10 - i / 200:.3f}" + ("\nbest epoch: 1 loss 2.9" if i == 9 else "")
        for e in range(1, 9)
        for i in range(10)
    )
    run = History("x", [read_text(text)])
    assert run.raw_loss is not None and run.raw_loss.runs == 1 and len(run.raw_loss) >= 79
    assert run.raw_loss.steps == sorted(set(run.raw_loss.steps))


def test_dev_loss_alone_is_the_evaluations():
    text = "\n".join(f"Iter: {i * 100} | Dev Loss: {3 - i / 50:.4f} | Dev F1: 0.5" for i in range(40))
    run = History("x", [read_text(text)])
    assert run.raw_loss is None and len(run.evaluations[0]) == 40


def test_the_reward_of_a_hand_written_loop_is_a_reward():
    text = "episode,episode time,episode_reward,running_reward,steps_done\n" + "\n".join(
        f"{i},0.5,{i + i % 7},{i},{i * 300}" for i in range(200)
    )
    run = History("x", [read_text(text, "progress.csv")])
    reward = next(s for s in judge(run).signals if s.name == "reward_margin")
    assert run.task == "rl" and reward.level == "normal" and run.last_step == 199 * 300


def test_a_resume_from_an_earlier_epoch_goes_on_where_that_epoch_began():
    def rows(first: int, last: int) -> list[str]:
        return [
            f"03/25 19:53:52 - mmengine - INFO - Epoch(train)  [{e}][{i:4d}/1000]  lr: 1.0e-03  loss: {9 - e / 10 - i / 20000:.4f}"
            for e in range(first, last + 1)
            for i in range(50, 1001, 50)
        ]

    run = History("x", [read_text("\n".join(rows(1, 12) + rows(9, 20)))])
    c = run.raw_loss
    assert c is not None and c.runs == 1 and c.resumed == [8050] and c.steps[-1] == 20_000
    assert judge(run).level == "normal"
