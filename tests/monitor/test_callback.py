"""The monitor inside a loop."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
import types
from pathlib import Path

import pytest
from patience import quick

from papertrain.core.errors import PapertrainError
from papertrain.monitor.callback import Alarm, Watch, trainer_callback

ROOT = Path(__file__).resolve().parents[2]
TRAIN = ROOT / ".envs/train/bin/python"


def test_a_healthy_loop_raises_no_alarm():
    told = []
    watch = Watch(stop_on="critical", tell=told.append)
    for i in range(400):
        watch.log(i, loss=1 + 1.5 * math.exp(-i / 80), grad_norm=1.0 + i % 3 / 10, lr=1e-5)
    watch.close()
    assert (watch.level, watch.stop, told) == ("normal", False, [])


def test_nan_stops_the_loop_within_three_rows_and_is_told_once():
    told = []
    watch = Watch(stop_on="critical", tell=told.append)
    stopped = None
    for i in range(60):
        watch.log(i, loss=2 - i / 100 if i < 40 else math.nan, grad_norm=1.0)
        if watch.stop:
            stopped = i
            break
    assert stopped is not None and stopped <= 42
    assert sum("train_loss critical" in line for line in told) == 1


def test_the_loop_can_be_ended_by_an_exception():
    watch = Watch(stop_on="critical", raises=True, tell=lambda line: None)
    with pytest.raises(Alarm, match="train_loss"):
        for i in range(60):
            watch.log(i, loss=2.0 - i / 100 if i < 20 else math.inf)


def test_what_is_no_number_is_left_out():
    watch = Watch(tell=lambda line: None)
    watch.log(1, loss=2.0, note="warming up", other=None)
    assert set(watch.table.columns) == {"loss"}


def test_logging_costs_less_than_a_thousandth_of_a_hundred_millisecond_step():
    watch = Watch(tell=lambda line: None)
    watch._began -= 1000  # the loop has been running for a while
    for i in range(200):
        watch.log(i, loss=2 - i / 1000, grad_norm=1.0)
    begin = time.process_time()
    for i in range(200, 2200):
        watch.log(i, loss=2 - i / 10000, grad_norm=1.0)
    assert quick((time.process_time() - begin) / 2000, 3e-4), "three times the goal: other tests share the machine"


def test_nothing_is_imported_and_no_pattern_compiled_once_the_loop_runs():
    """The first look took 25 ms: half of it were the patterns of names, compiled at their first use."""
    code = """
import re, sys
from papertrain.monitor.callback import Watch
watch = Watch(tell=lambda line: None, total_steps=1000)
modules, compiled = set(sys.modules), []
real = re._compiler.compile
re._compiler.compile = lambda p, *a: (compiled.append(p), real(p, *a))[1]
for i in range(64):
    watch.log(i, loss=3 - i / 50, grad_norm=1.0 + i % 3, lr=1e-4, tokens_per_second=3000.0)
print(sorted(set(sys.modules) - modules), compiled)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] []"


def test_importing_the_callback_imports_neither_torch_nor_numpy():
    code = (
        "import sys, papertrain.monitor.callback; print(sorted({'torch', 'transformers', 'numpy'} & set(sys.modules)))"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


def test_an_unknown_stop_level_is_refused():
    with pytest.raises(PapertrainError, match="stop_on"):
        Watch(stop_on="sometimes")  # type: ignore[arg-type]


def test_the_trainer_callback_ends_training(monkeypatch):
    """With a stand-in for transformers: its callback class is only a base class here."""
    fake = types.ModuleType("transformers")
    fake.TrainerCallback = object  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "transformers", fake)
    callback = trainer_callback(stop_on="critical", tell=lambda line: None)
    state = types.SimpleNamespace(max_steps=100, global_step=0, is_world_process_zero=True)
    control = types.SimpleNamespace(should_training_stop=False)
    callback.on_train_begin(None, state, control)
    for i in range(1, 60):
        state.global_step = i
        callback.on_log(
            None,
            state,
            control,
            logs={
                "loss": 2 - i / 100 if i < 30 else 0.0,
                "grad_norm": 1.0 if i < 30 else math.nan,
                "learning_rate": 1e-5,
            },
        )
        if control.should_training_stop:
            break
    assert control.should_training_stop and 30 <= i <= 33
    callback.on_train_end(None, state, control)


def in_the_trainer(kind: str, stop_on: str, out: Path) -> dict:
    done = subprocess.run(
        [TRAIN, Path(__file__).with_name("train_with_callback.py"), kind, stop_on, out],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "HF_HUB_OFFLINE": "1"}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.train
@pytest.mark.skipif(not TRAIN.exists(), reason="no .envs/train: `make train` makes it")
def test_the_real_trainer_is_stopped_at_the_step_at_which_its_loss_becomes_nan(tmp_path):
    ended = in_the_trainer("nan", "critical", tmp_path)
    assert ended["steps"] == 12 and ended["level"] == "critical"
    assert ended["told"] == [
        "papertrain: train_loss critical: 0.0 printed since step 12 while grad_norm is nan: the Trainer hides a NaN loss as 0.0"
    ]


@pytest.mark.slow
@pytest.mark.train
@pytest.mark.skipif(not TRAIN.exists(), reason="no .envs/train: `make train` makes it")
def test_the_real_trainer_runs_to_its_end_when_it_is_well_or_was_not_to_be_stopped(tmp_path):
    well = in_the_trainer("healthy", "critical", tmp_path)
    assert (well["steps"], well["told"], well["level"]) == (60, [], "normal")
    ill = in_the_trainer("nan", "never", tmp_path)
    assert ill["steps"] == 60 and sum("train_loss critical" in line for line in ill["told"]) == 1
