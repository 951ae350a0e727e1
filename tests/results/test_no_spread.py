"""Scores whose items do not differ: no interval is drawn from them, and the reason stands where the interval would."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from papertrain.core.results import Interval
from papertrain.results.metrics import classify, other, text
from papertrain.results.metrics.measured import Measured, estimate, mean_of
from papertrain.results.stats import auc
from papertrain.results.stats.outcome import pointlike, stream

HALVES = ["a", "b"] * 10
SAYINGS = [f"the cat of house {i} sat on the mat" for i in range(20)]
SCORES = {
    "all right": classify.hard(HALVES, HALVES),
    "all wrong": classify.hard(HALVES, ["b", "a"] * 10),
    "one class": classify.hard(["a"] * 20, ["a"] * 20),
    "constant error": other.regression([float(i) for i in range(20)], [i + 0.1 for i in range(20)]),
    "same words": {**text.translation(SAYINGS, SAYINGS, ["bleu", "chrf", "ter"]), **text.speech(SAYINGS, SAYINGS, ["wer", "cer"])},
    "areas": classify.soft_binary(HALVES, [0.9 if x == "b" else 0.1 for x in HALVES], "b"),
    "even areas": classify.soft_binary(HALVES, [0.5] * 20, "b"),
    "real": {"m": mean_of([0.25] * 20, metric="m", definition="", library="the file")},
}  # fmt: skip


def found(m: Measured, cluster: list[str] | None = None) -> tuple[Interval | None, str]:
    return estimate(m, rng=stream(7, m.metric), resamples=500, cluster=cluster)


@pytest.mark.parametrize("name", SCORES)
def test_no_score_has_an_interval_of_no_width(name: str) -> None:
    for m in SCORES[name].values():
        ci, why = found(m)
        assert ci is None or ci.high - ci.low > 1e-9, m.metric
        assert m.value is None or (ci is None) == bool(why), m.metric


def test_a_perfect_macro_f1_says_why_it_has_none_and_its_accuracy_keeps_wilson() -> None:
    ci, why = found(SCORES["all right"]["macro_f1"])
    assert ci is None and "every resample" in why
    ci, why = found(SCORES["all right"]["accuracy"])
    assert ci is not None and ci.method == "wilson" and ci.low == pytest.approx(0.8389, abs=1e-4) and not why


def test_one_mistake_gives_the_interval_back() -> None:
    ci, why = found(classify.hard(HALVES, ["b", *HALVES[1:]])["macro_f1"])
    assert ci is not None and ci.low < 0.95 <= ci.high and not why


def test_a_perfect_area_has_none_and_says_why() -> None:
    ci, why = found(SCORES["areas"]["auc"])
    assert ci is None and "every resample" in why
    assert auc.delong_interval([1, 1, 0, 0], [0.9, 0.8, 0.2, 0.1]) == (1.0, None)


def test_clusters_that_are_all_right_have_none() -> None:
    ci, why = found(mean_of([1.0] * 20, metric="em", definition="", library="x"), [str(i // 4) for i in range(20)])
    assert ci is None and "every resample" in why


def test_one_item_carries_none() -> None:
    assert found(mean_of([0.3], metric="em", definition="", library="x")) == (
        None,
        "no interval: one item carries none",
    )


@pytest.mark.parametrize(("low", "high", "is_point"), [(1.0, 1.0, True), (0.0, 0.0, True), (-1e-17, 1e-17, True), (100.0, 100.0 + 1e-11, True),
                                                         (0.0, 1e-6, False), (0.99, 1.0, False), (float("nan"), float("nan"), True)])  # fmt: skip
def test_noise_of_the_last_digits_is_no_width(low: float, high: float, is_point: bool) -> None:
    assert pointlike(Interval(low=low, high=high)) is is_point


def test_areas_that_differ_without_variance_have_no_p() -> None:
    """One system ranks all pairs right, the other all wrong: DeLong's error is 0, and that is no p of 1."""
    y, s = np.array([1, 1, 1, 0, 0, 0]), np.array([0.9, 0.8, 0.7, 0.3, 0.2, 0.1])
    o = auc.delong(y, s, 1 - s)
    assert o.difference == 1.0 and o.p is None
    assert auc.delong(y, s, s).p == 1.0
    assert msgspec.structs.asdict(auc.delong(y, s, np.array([0.9, 0.2, 0.7, 0.3, 0.8, 0.1])))["p"] < 1
