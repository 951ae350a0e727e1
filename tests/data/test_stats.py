"""Counting in constant memory gives what counting plainly gives."""

from __future__ import annotations

import math
import statistics

from hypothesis import given
from hypothesis import strategies as st

from papertrain.data.stats import Duplicates, Lengths


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=300))
def test_percentiles_are_the_nearest_rank(lengths):
    histogram = Lengths()
    for n in lengths:
        histogram.add(n)
    found = histogram.profile()
    ranked = sorted(lengths)
    for q, got in ((50, found.p50), (90, found.p90), (95, found.p95), (99, found.p99)):
        assert got == ranked[math.ceil(len(ranked) * q / 100) - 1]
    assert found.longest == ranked[-1] and math.isclose(found.mean, statistics.fmean(lengths))


@given(st.lists(st.integers(1, 300), min_size=1, max_size=200), st.integers(1, 256))
def test_packing_lies_between_the_least_possible_and_first_fit_decreasing_bound(lengths, cutoff):
    histogram = Lengths()
    for n in lengths:
        histogram.add(n)
    kept = [min(n, cutoff) for n in lengths]
    least = math.ceil(sum(kept) / cutoff)
    got = histogram.packed(cutoff)
    # Best fit decreasing never needs more than 11/9 of the optimum + 1, and the optimum is at most twice the volume.
    assert least <= got <= max(1, 2 * least) and got == best_fit_decreasing(kept, cutoff)


def best_fit_decreasing(sizes, cutoff):
    """The same, one at a time."""
    gaps = []
    for size in sorted(sizes, reverse=True):
        fits = [g for g in gaps if g >= size]
        if fits:
            gaps[gaps.index(min(fits))] -= size
        else:
            gaps.append(cutoff - size)
    return len(gaps)


@given(st.lists(st.integers(0, 20), max_size=200))
def test_duplicates_are_what_a_set_says(values):
    found = Duplicates()
    for v in values:
        found.add(("row", v))
    assert found.count == len(values) - len(set(values))


def test_beyond_its_limit_the_count_is_estimated(monkeypatch):
    monkeypatch.setattr(Duplicates, "LIMIT", 20_000)
    found = Duplicates()
    for i in range(100_000):
        found.add(("row", i % 50_000))
    assert found.thinned >= 2 and found.total <= 20_000
    assert abs(found.count - 50_000) < 2_500
