"""Scores of raw outputs against the libraries that the field cites and against hand-counted cases."""

from __future__ import annotations

import math

import numpy as np
import pytest

from papertrain.core.errors import PapertrainError
from papertrain.results.kinds import task
from papertrain.results.metrics import classify, other, text
from papertrain.results.metrics.measured import interval
from papertrain.results.records import Items
from papertrain.results.score import measure
from papertrain.results.stats.outcome import stream


def items(label: list[object], prediction: list[object] | None = None, **more: object) -> Items:
    return Items(ids=[str(i) for i in range(len(label))], label=label, prediction=prediction, **more)  # type: ignore[arg-type]


def test_the_rows_that_carry_tests_give_the_library_value() -> None:
    g = stream(1, "x")
    y, p = [str(v) for v in g.integers(0, 3, 200)], [str(v) for v in g.integers(0, 3, 200)]
    for m in classify.hard(y, p).values():
        if m.statistic is not None and m.rows is not None:
            assert m.statistic(m.rows.sum(0)[None])[0] == pytest.approx(m.value, abs=1e-12), m.metric


@pytest.mark.parametrize("nothing", ["", "NaN", "none"])
def test_no_answer_is_wrong_and_no_class_of_its_own(nothing: str) -> None:
    from sklearn import metrics as sk

    gold = ["a", "b", "c"] * 20
    said = [*gold[:-2], nothing, nothing]
    scores = classify.hard(gold, said)
    assert scores["accuracy"].value == pytest.approx(58 / 60)
    assert scores["macro_f1"].value == pytest.approx(sk.f1_score(gold, said, labels=["a", "b", "c"], average="macro"))
    for name in ("macro_f1", "macro_precision", "macro_recall", "mcc", "kappa"):
        m = scores[name]
        assert m.rows is not None and m.statistic is not None
        assert m.statistic(m.rows.sum(0)[None])[0] == pytest.approx(m.value), name
    assert f"f1[{nothing}]" not in scores


def test_a_gold_label_that_is_called_none_is_a_class() -> None:
    assert "f1[none]" in classify.hard(["none", "some"] * 10, ["none", "none"] * 10)


def test_every_score_says_what_it_is_and_lies_in_its_interval() -> None:
    g = stream(2, "x")
    y = [str(v) for v in g.integers(0, 2, 150)]
    s = [0.3 * float(v == "1") + 0.7 * float(g.random()) for v in y]
    for m in measure(items(y, [str(int(v > 0.5)) for v in s], score=s), everything=True):
        assert m.definition and m.library and m.n == 150
        ci = interval(m, rng=stream(7, m.metric), resamples=2000)
        assert ci is None or (ci.low <= m.value + 1e-9 and m.value <= ci.high + 1e-9), m.metric


@pytest.mark.parametrize(("a", "b"), [(1, "1"), (1.0, "1"), (True, "true"), (" x ", "x"), ("2.0", 2)])
def test_one_class_in_two_spellings_is_one_class(a: object, b: object) -> None:
    assert classify.text(a) == classify.text(b)


@pytest.mark.parametrize(("label", "prediction", "kind"), [
    (["a", "b"] * 20, ["a", "a"] * 20, "classification"),
    ([0, 1] * 20, [1, 1] * 20, "classification"),
    ([0.25 * i for i in range(40)], [0.2 * i for i in range(40)], "regression"),
    ([f"an answer number {i} of some length" for i in range(40)], ["x"] * 40, "text"),
    ([["a", "b"]] * 5, ["a"] * 5, "text"),
    (["d1"] * 5, [["d2", "d1"]] * 5, "ranking"),
])  # fmt: skip
def test_the_task_is_seen_in_the_columns(label: list[object], prediction: list[object], kind: str) -> None:
    assert task(items(label, prediction)) == kind


class TestText:
    def test_exact_match_and_token_f1_follow_squad(self) -> None:
        assert text.normalise("The  Cat, sat!") == "cat sat"
        got = text.exact(["the cat sat", ["a dog", "one dog"], "x"], ["Cat sat.", "dog", "y"])
        assert got["em"].rows is not None and list(got["em"].rows) == [1, 1, 0]
        assert text.token_f1("a cat on a mat", "the cat") == pytest.approx(2 * 1 / (3 + 1))

    @pytest.mark.parametrize(
        ("a", "b", "d"),
        [("kitten", "sitting", 3), ("", "abc", 3), ("abc", "abc", 0), ("flaw", "lawn", 2), ("中文字", "中字", 1)],
    )
    def test_edit_distance(self, a: str, b: str, d: int) -> None:
        assert text.distance(a, b) == d == text.distance(b, a)

    def test_word_and_character_error_rates_are_of_the_whole_set(self) -> None:
        got = text.speech(["the cat sat", "on"], ["the cat", "on it"])
        assert got["wer"].value == pytest.approx(2 / 4) and not got["wer"].higher_is_better
        assert got["cer"].value == pytest.approx((4 + 3) / (11 + 2))

    def test_bleu_keeps_sacrebleus_signature(self) -> None:
        got = text.translation(
            ["the cat sat on the mat"] * 3, ["the cat sat on a mat", "a cat", "the cat sat on the mat"]
        )
        assert "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp" in got["bleu"].library and got["bleu"].rows is not None
        zh = text.translation(["今天天气很好"] * 2, ["今天天气好", "今天很好"])
        assert "tok:zh" in zh["bleu"].library

    def test_rouge_is_not_defined_for_chinese(self) -> None:
        got = text.rouge(["今天天气很好"], ["今天天气好"])
        assert got["rougeL"].value is None and "not defined for this language" in got["rougeL"].reason
        assert text.rouge(["the cat sat"], ["the cat sat"])["rouge1"].value == 1.0


class TestProbabilities:
    def test_log_loss_brier_and_area_equal_scikit_learn(self) -> None:
        from sklearn import metrics as sk

        g = stream(3, "x")
        y = g.integers(0, 2, 200)
        p = np.clip(0.5 * y + 0.5 * g.random(200), 0.01, 0.99)
        got = {m.metric: m for m in measure(items(list(y), None, score=list(p)), everything=True)}
        assert got["auc"].value == pytest.approx(sk.roc_auc_score(y, p)) and got["ap"].value == pytest.approx(
            sk.average_precision_score(y, p)
        )
        assert got["log_loss"].value == pytest.approx(sk.log_loss(y, p)) and got["brier"].value == pytest.approx(
            sk.brier_score_loss(y, p)
        )

    def test_a_perfectly_calibrated_forecast_has_no_calibration_error(self) -> None:
        y = ["1"] * 7 + ["0"] * 3
        assert classify.soft_binary(y, [0.7] * 10)["ece"].value == pytest.approx(0.0, abs=1e-12)

    def test_hard_labels_have_no_area(self) -> None:
        with pytest.raises(PapertrainError, match="areas need a score"):
            measure(items(["a", "b"] * 10, ["a", "a"] * 10), ["auc"])

    def test_the_positive_class_is_asked_for_where_it_cannot_be_told(self) -> None:
        with pytest.raises(PapertrainError, match="positive class"):
            classify.soft_binary(["cat", "dog"] * 5, [0.1, 0.9] * 5)
        assert classify.soft_binary(["cat", "dog"] * 5, [0.1, 0.9] * 5, "dog")["auc"].value == 1.0

    def test_several_classes_get_the_one_against_rest_area(self) -> None:
        y = ["a", "b", "c"] * 5
        p = {c: [0.8 if c == t else 0.1 for t in y] for c in "abc"}
        assert classify.soft_multi(y, p)["auc"].value == 1.0


def test_ranking_by_hand() -> None:
    got = other.ranking(["d2", ["d1", "d9"]], [["d1", "d2", "d3"], ["d1", "d5", "d9"]])
    assert got["mrr"].value == pytest.approx((0.5 + 1) / 2)
    assert got["map"].value == pytest.approx((0.5 + (1 + 2 / 3) / 2) / 2)
    assert got["hit@1"].value == 0.5
    assert got["ndcg@5"].value == pytest.approx((1 / math.log2(3) + (1 + 1 / 2) / (1 + 1 / math.log2(3))) / 2)


def test_perplexity_is_per_token_of_the_whole_set() -> None:
    assert other.perplexity([2.0, 6.0], [2, 2])["perplexity"].value == pytest.approx(math.exp(2.0))


def test_fleiss_kappa_of_the_published_example() -> None:
    # Fleiss 1971 as worked through on Wikipedia: 10 subjects, 14 raters, 5 categories, kappa 0.210
    counts = [
        [0, 0, 0, 0, 14],
        [0, 2, 6, 4, 2],
        [0, 0, 3, 5, 6],
        [0, 3, 9, 2, 0],
        [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0],
        [2, 5, 3, 2, 2],
        [6, 5, 2, 1, 0],
        [0, 2, 2, 3, 7],
    ]
    ratings = [[k for k, n in enumerate(row) for _ in range(n)] for row in counts]
    assert classify.fleiss_kappa(ratings) == pytest.approx(0.210, abs=5e-4)


def test_spearman_and_its_interval() -> None:
    from scipy import stats

    g = stream(4, "x")
    y = g.normal(size=60)
    f = y + g.normal(size=60)
    m = other.regression(list(y), list(f))["spearman"]
    assert (
        m.value == pytest.approx(stats.spearmanr(y, f).statistic)
        and m.ci is not None
        and m.ci.low < m.value < m.ci.high
    )
