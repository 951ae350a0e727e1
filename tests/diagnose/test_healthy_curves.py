"""A healthy run, however noisy, is no failure; a curve that was spoiled still is one."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable

import pytest
from patience import quick

from monitor_faults import diverges, jumps_and_stays
from monitor_healthy import HEALTHY, gan
from monitor_runs import Row, Run
from papertrain.diagnose.decide import decide
from papertrain.diagnose.look import look_at_text
from papertrain.diagnose.shapes import non_finite

NAMES = {"lr": "learning_rate"}


def classes(rows: list[Row]) -> list[str]:
    text = "\n".join(repr({NAMES.get(k, k): v for k, v in r.items()}) for r in rows) + "\n"
    return [m.rule.name for m in decide(look_at_text(text)).matches]


def small_batches(seed: int) -> list[Row]:
    """A classifier on batches of 4 to 32: the losses scatter the more, and the more to one side, the more has been learnt."""
    r = random.Random(seed)
    n, batch = r.choice((120, 226, 400, 800)), r.choice((4, 8, 16, 32))
    low, turn = r.uniform(0.05, 0.45), r.uniform(0.15, 0.5)
    rows: list[Row] = []
    for i in range(1, n + 1):
        x = i / n
        mean = low + (0.693 - low) / (1 + math.exp((x - turn) / 0.08))
        sd = min(mean, (0.01 + 0.6 * max(0.0, 0.693 - mean) + 0.05 * (x > turn)) / math.sqrt(batch / 4))
        rate = 7e-5 * (10 * x if x < 0.1 else (1 - x) / 0.9)
        norm = abs(r.gauss(1 + 6 * min(1, x / turn), 1 + 2 * x))
        rows.append({"loss": r.gammavariate(mean**2 / sd**2, sd**2 / mean), "grad_norm": norm, "lr": rate, "epoch": 2 * x})  # fmt: skip
    return rows


@pytest.mark.parametrize("seed", range(40))
def test_the_noise_of_small_batches_is_no_divergence(seed: int) -> None:
    assert classes(small_batches(seed)) == []


# The losses of a game between two networks have no level to come back to.
@pytest.mark.parametrize("shape", [s for s in HEALTHY if s is not gan], ids=lambda s: s.__name__)
@pytest.mark.parametrize("seed", range(3))
def test_a_healthy_shape_is_no_failure(shape: type, seed: int) -> None:
    rows = shape(Run(random.Random(seed)))
    assert classes([r for r in rows if "loss" in r]) == []


@pytest.mark.parametrize("fault", [diverges, jumps_and_stays], ids=lambda f: f.__name__)
@pytest.mark.parametrize("seed", range(6))
def test_a_curve_that_left_its_level_is_one(fault: type, seed: int) -> None:
    rows, _ = fault(Run(random.Random(seed)))
    assert set(classes(rows)) & {"divergence-lr-too-high", "loss-spike-bad-batch"}


@pytest.mark.parametrize(
    "row",
    [
        lambda i: "{'loss': 0.0, 'grad_norm': 1.0, 'learning_rate': 1e-05}",
        lambda i: f"{{'loss': 1.{i % 7}, 'grad_norm': {'inf' if i % 25 < 5 else 1.0}, 'epoch': {i}}}",
    ],
    ids=["the same row", "skipped steps"],
)
def test_the_time_for_a_long_log_grows_with_its_rows_only(row: Callable[[int], str]) -> None:
    """Each row was once compared with all others: 20,000 of the first took over a minute."""
    case = look_at_text("\n".join(map(row, range(20_000))))
    begin = time.process_time()
    non_finite(case)
    assert quick(time.process_time() - begin, 1)
