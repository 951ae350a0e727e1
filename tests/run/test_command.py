"""A user's command: placeholders filled, one word stays one word."""

from __future__ import annotations

import pytest

from papertrain.core.errors import PapertrainError
from papertrain.run.command import fill


def test_placeholders_are_filled_and_a_value_with_blanks_or_quotes_stays_one_word() -> None:
    words = fill(
        "python base.py --data {data_train} --out={out}/p", {"data_train": "a b'; rm -rf .csv", "out": "runs/x"}, "base"
    )
    assert words == ["python", "base.py", "--data", "a b'; rm -rf .csv", "--out=runs/x/p"]


@pytest.mark.parametrize("command", ["python 'open", "python {dat_train}", "  "])
def test_a_command_that_cannot_be_filled_is_one_clear_error(command: str) -> None:
    with pytest.raises(PapertrainError) as error:
        fill(command, {"data_train": "x", "out": "y"}, "base")
    assert error.value.exit == 2
    if "{" in command:
        assert error.value.nearest == "data_train"


def test_a_value_with_braces_is_not_filled_again() -> None:
    assert fill("run {data}", {"data": "{out}", "out": "secret"}, "base") == ["run", "{out}"]
