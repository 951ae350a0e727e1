"""Alarms are dated where the trouble began, wherever that is and however often a row is logged."""

from __future__ import annotations

import math
import random

import pytest

from papertrain.monitor.find import read_text
from papertrain.monitor.history import History
from papertrain.monitor.rules import _onset
from papertrain.monitor.run import judge

SHAPES = {
    "line": lambda t: 3 * t,
    "jump": lambda t: 2.0,
    "exponential": lambda t: 0.3 * (math.exp(4 * t) - 1),
    "root": lambda t: 3 * t**0.5,
}


@pytest.mark.parametrize("shape", sorted(SHAPES))
@pytest.mark.parametrize("at", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("n", [60, 400])
def test_a_rise_is_dated_within_five_percent_or_six_rows(shape, at, n):
    for seed in range(5):
        r = random.Random(seed)
        k = int(at * n)
        y = [
            1
            + 0.6 * math.exp(-i / n / 0.05)
            + r.gauss(0, 0.02)
            + (SHAPES[shape]((i - k + 1) / (n - k)) if i >= k else 0)
            for i in range(n)
        ]
        assert abs(_onset.rise(y) - k) <= max(6, 0.06 * n), seed


@pytest.mark.parametrize("every", [1, 7, 50, 1000])
def test_a_spike_long_before_does_not_date_the_rise(every):
    """A spike at 40,001 that recovered, and a rise from 90,000 on: the alarm is about the rise."""
    r = random.Random(1)
    n = 240
    y = [0.9 + 1.5 * math.exp(-i / 25) + r.gauss(0, 0.03) for i in range(n)]
    y[80] = y[81] = 7.0
    y = [v + (0.06 * (i - 180) if i >= 180 else 0) for i, v in enumerate(y)]
    text = "\n".join(f"step={(i + 1) * every} loss={v:.4f}" for i, v in enumerate(y))
    loss = next(s for s in judge(History("x", [read_text(text)])).signals if s.name == "train_loss")
    assert loss.level == "critical" and abs(loss.since_step / every - 181) <= 0.05 * n


def test_a_plateau_is_dated_where_its_level_was_reached():
    y = [2 - 0.01 * min(i, 100) + 0.0005 * (i * 37 % 11) for i in range(300)]
    assert abs(_onset.flat(y, 200, 300) - 100) <= 15


def test_the_run_of_bad_points_that_ends_a_series_allows_for_a_single_good_one():
    bad = [False] * 10 + [True] * 5 + [False] + [True] * 6
    assert _onset.trailing(bad, bad) == 10
    assert _onset.trailing([0, 0], [False, False]) == 1


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0], [2.0] * 30, [1.0] * 5 + [math.inf] * 3])
def test_a_series_without_a_rise_has_some_date_and_no_error(values):
    if values:
        assert 0 <= _onset.rise(values) < len(values)


FALLS = {
    "exponential": lambda x: 1 + 2 * math.exp(-x / 0.08),
    "power law": lambda x: 3 * (1 + 200 * x) ** -0.3,
    "line": lambda x: 2 - 0.5 * x,
    "none": lambda x: 1.5,
}
CLIMBS = {"line": lambda t: t, "growing": lambda t: t * t, "flattening": math.sqrt}


@pytest.mark.parametrize(("climb", "off"), [("flattening", 2), ("growing", 12), ("line", 6)])
def test_a_slow_creep_under_noise_is_dated_at_its_lowest_point(climb, off):
    """The climb is some ten times the noise of a row: no corner can be seen. The truth is the lowest point of the curve without
    its noise. What begins with slope nothing stays below the noise for a while, so that a third of these is dated later."""
    missed = []
    for fall, seed in [(fall, seed) for fall in sorted(FALLS) for seed in range(8)]:
        r = random.Random(f"{fall}/{climb}/{seed}")
        n = (100, 300, 800)[seed % 3]
        k, height = int(n * r.uniform(0.25, 0.6)), r.uniform(0.4, 0.6)
        clean = [FALLS[fall](i / n) + (height * CLIMBS[climb]((i - k) / (n - k)) if i >= k else 0) for i in range(n)]
        lowest = min(range(k - 1, n), key=clean.__getitem__)
        found = _onset.creep([v + r.gauss(0, 0.04) for v in clean])
        assert found is not None
        if abs(found - lowest) > 0.05 * n:
            missed.append((fall, seed, found / n, lowest / n))
    assert len(missed) <= off, missed


def test_a_jump_is_no_creep():
    r = random.Random(5)
    y = [1 + r.gauss(0, 0.02) + (2.0 if i >= 60 else 0) for i in range(120)]
    assert _onset.creep(y) is None and abs(_onset.rise(y) - 60) <= 2
