"""A signature is all that a face needs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import pytest

from papertrain.core.errors import PapertrainError, nearest
from papertrain.core.params import Arg, ModeArg, OutArg, parameters
from papertrain.core.report import Report
from papertrain.core.schema import arguments, confine, schema_of
from papertrain.core.units import parse_bytes, show_bytes, show_number, show_seconds, show_size


def verb(
    target: Annotated[str, Arg("the model")],
    more: Sequence[Path] = (),
    *,
    rank: Annotated[int | None, Arg("the rank")] = None,
    rules: Literal["method", "evidence"] = "method",
    mode: ModeArg = None,
    output: OutArg = None,
    online: bool = False,
) -> Report:
    """Do it."""
    raise NotImplementedError


def test_every_parameter_says_its_type_option_and_help() -> None:
    by = {p.name: p for p in parameters(verb)}
    assert by["target"].required and by["target"].option is None and by["target"].arg.help == "the model"
    assert by["more"].many and by["more"].kind is Path
    assert by["rank"].option == "--rank" and by["rank"].kind is int and by["rank"].optional
    assert by["rules"].choices == ("method", "evidence") and by["mode"].choices == ("exploratory", "quick", "standard")
    assert by["output"].arg.short == "o" and by["online"].kind is bool


def test_the_schema_and_the_conversion_agree() -> None:
    params = parameters(verb)
    schema = schema_of(params)
    assert schema["required"] == ["target"] and schema["properties"]["rules"]["enum"] == ["method", "evidence"]
    assert arguments(params, {"target": "m", "rank": 8, "more": ["a"]}) == {
        "target": "m",
        "rank": 8,
        "more": [Path("a")],
    }
    for bad in (
        {"target": "m", "rnk": 8},
        {"target": "m", "rank": "eight"},
        {},
        {"target": "m", "rules": "metod"},
        {"target": {"a": 1}},
    ):
        with pytest.raises(PapertrainError):
            arguments(params, bad)


def test_paths_and_texts_that_are_paths_stay_in_the_granted_folders(tmp_path: Path) -> None:
    confine("data", tmp_path / "x", [tmp_path], is_path=True)
    confine("model", "Qwen/Qwen2.5-7B", [tmp_path], is_path=False)
    for bad, is_path in (
        (Path("/etc/passwd"), True),
        ("/etc", False),
        ("ours=/etc/passwd", False),
        (str(tmp_path / "../.."), True),
    ):
        with pytest.raises(PapertrainError):
            confine("x", bad, [tmp_path], is_path=is_path)


def test_sizes_are_read_as_on_the_label_and_shown_the_same() -> None:
    assert (
        parse_bytes("512GB") == 512 * 10**9
        and parse_bytes("64 GiB") == 64 * 2**30
        and show_bytes(141e9) == "131.3 GiB"
        and show_size(141e9) == "141.0 GB"
    )
    with pytest.raises(PapertrainError):
        parse_bytes("lots")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2e-4, "2.0e-4"),
        (2.14e-5, "2.14e-5"),
        (1926, "1,926"),
        (0.1, "0.1"),
        (True, "yes"),
        (None, "unknown"),
        (["a", "b"], "a, b"),
    ],
)
def test_values_are_shown_for_people(value: object, text: str) -> None:
    assert show_number(value) == text


def test_durations_are_said_as_people_do() -> None:
    assert [show_seconds(s) for s in (0.5, 45, 200, 13_200, 2e5)] == [
        "0.50 s",
        "45 s",
        "3 min 20 s",
        "3 h 40 min",
        "2.3 days",
    ]


def test_the_nearest_name_is_the_one_that_was_meant() -> None:
    assert nearest("lerning_rate", ["learning_rate", "lora_rank"]) == "learning_rate"
    assert nearest("zzz", ["learning_rate"]) is None
