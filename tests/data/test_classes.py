"""Labels that may be slips of the pen are told with their line and count, and no class is merged in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from papertrain.data.classes import Classes
from papertrain.data.profile import profile


def odd(labels: list[str]) -> list[tuple[str, int, int, str]]:
    classes = Classes()
    for line, label in enumerate(labels, 2):
        classes.add(label, "train.csv", line)
    return [(o.label, o.rows, o.line, o.like) for o in classes.odd()]


def test_a_label_that_differs_by_case_or_blanks_stands_with_the_one_it_is_like() -> None:
    assert odd(["good", "bad", "Good", "good", "bad ", "GOOD", "bad", "Good"]) == [
        ("Good", 2, 4, "good"),
        ("bad ", 1, 6, "bad"),
        ("GOOD", 1, 7, "good"),
    ]


def test_a_label_of_one_row_is_told_where_others_have_more() -> None:
    assert odd(["a", "b", "a", "neutral", "b"]) == [("neutral", 1, 5, "")]


@pytest.mark.parametrize("labels", [["a", "b"], ["a", "b", "a", "b"], [str(i) for i in range(5)]])
def test_a_handful_of_rows_and_clean_labels_are_not_odd(labels: list[str]) -> None:
    assert odd(labels) == []


def test_the_profile_counts_every_spelling_as_the_training_does(tmp_path: Path) -> None:
    file = tmp_path / "train.csv"
    file.write_text("text,label\na film,good\nb film,bad\nc film,good\nd film,bad\ne film,good \n,bad\n")
    found = profile(file, model=None, cutoff=64)
    assert found.labels == {"good": 2, "bad": 2, "good ": 1}
    assert [(o.label, o.line, o.like) for o in found.odd_labels] == [("good ", 6, "good")]
    assert found.empty_answers == 1
