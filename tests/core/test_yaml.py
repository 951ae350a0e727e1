"""The reader knows every line, types what YAML 1.2 types, and edits without touching the rest."""

from __future__ import annotations

import json
import math
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from patience import quick

from papertrain.core.errors import PapertrainError
from papertrain.core.yaml import DELETE, dump_scalar, edit, load, load_any, load_json

SFT = """\
### model
model_name_or_path: Qwen/Qwen2.5-7B-Instruct  # a hub name
learning_rate: 1e-5
bf16: true
save: no
lora:
  rank: 8
  targets: [q_proj, v_proj]  # two
dataset:
  - a
  - b
"""


def test_values_are_those_of_yaml_1_2_and_a_float_needs_no_dot() -> None:
    doc = load(SFT, "sft.yaml")
    assert doc.value["learning_rate"] == 1e-5 and doc.value["save"] == "no" and doc.value["bf16"] is True
    assert doc.raw("learning_rate") == "1e-5" and doc.raw("model_name_or_path") == "Qwen/Qwen2.5-7B-Instruct"


def test_every_value_knows_its_line() -> None:
    doc = load(SFT, "sft.yaml")
    assert [doc.line(*p) for p in (("bf16",), ("lora", "rank"), ("dataset", 1), ("lora", "nothing"))] == [4, 7, 11, 6]


def test_json_values_know_their_lines_too() -> None:
    doc = load_json('{\n "a": {\n  "b": [1,\n   2]},\n "c": "x, y"}', "x.json")
    assert doc.value == {"a": {"b": [1, 2]}, "c": "x, y"} and doc.line("a", "b", 1) == 4 and doc.line("c") == 5


def test_duplicate_keys_are_problems_with_both_lines() -> None:
    for doc in (load("a: 1\nb: 2\na: 3\n", "x"), load_json('{"a": 1,\n"b": 2,\n"a": 3}', "x.json")):
        (problem,) = doc.problems
        assert (problem.code, problem.key, problem.line) == ("duplicate-key", "a", 3) and "line 1" in problem.says
        assert doc.value == {"a": 3, "b": 2}


def test_comments_and_nan_in_json_are_problems_not_errors() -> None:
    doc = load_json('{\n  // learning rate\n  "lr": NaN, "url": "http://x"}', "x.json")
    assert {p.code for p in doc.problems} == {"json-comment", "json-nan"} and math.isnan(doc.value["lr"])


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: [1, 2\nb: 3", 2),
        ("a:\n\t- b", 2),
        ("a: 1\n b: 2", 2),
        ("&a [*a]", 1),
        ("a: *nope", 1),
        ("a: 1\n---\nb: 2", 2),
    ],
)
def test_what_is_no_yaml_is_one_error_with_its_line(text: str, line: int) -> None:
    with pytest.raises(PapertrainError) as caught:
        load(text, "bad.yaml")
    assert caught.value.line == line and caught.value.exit == 2


def test_a_trailing_comma_in_json_is_named() -> None:
    with pytest.raises(PapertrainError, match="comma") as caught:
        load_json('{\n"a": 1,\n}', "x.json")
    assert caught.value.line == 3


@pytest.mark.parametrize(
    "bomb",
    [
        "[" * 100_000,
        "a: " + "{b: " * 5000,
        "- " * 20_000 + "x",
        "\n".join(["a0: &a0 [x]"] + [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 9)]),
        "a: " + "x" * 3_000_000,
        "a: 1" + "\n" * 500_000 + "b: 2",
        "!!python/object/apply:os.system ['true']: 1",
        "\x00\x01",
    ],
    ids=["brackets", "braces", "dashes", "aliases", "size", "lines", "tag", "control"],
)
def test_hostile_yaml_is_refused_at_once(bomb: str) -> None:
    start = time.process_time()
    with pytest.raises(PapertrainError):
        load(bomb, "bomb.yaml")
    assert quick(time.process_time() - start, 5)


def test_a_file_of_empty_lines_is_an_empty_file_and_known_as_one_at_once() -> None:
    start = time.process_time()
    assert load("\n" * 500_000, "empty.yaml").value is None
    assert quick(time.process_time() - start, 1)


def test_no_tag_is_ever_constructed() -> None:
    assert load("a: !!python/object/apply:os.system ['true']", "x").value == {"a": ["true"]}


def test_an_edit_keeps_every_other_byte() -> None:
    new = edit(SFT, [(("learning_rate",), 2e-5), (("lora", "rank"), 16), (("lora", "alpha"), 32), (("save",), DELETE)])
    assert new == SFT.replace("1e-5", "2.0e-5").replace("rank: 8", "rank: 16").replace("save: no\n", "").replace(
        "[q_proj, v_proj]  # two\n", "[q_proj, v_proj]  # two\n  alpha: 32\n"
    )


def test_an_edit_of_json_keeps_its_layout() -> None:
    text = '{\n    "zero_optimization": {\n        "stage": 2,\n        "overlap_comm": true\n    }\n}\n'
    assert edit(text, [(("zero_optimization", "overlap_comm"), False)], "ds.json") == text.replace("true", "false")
    more = edit(text, [(("zero_optimization", "x"), 5), (("bf16", "enabled"), True)], "ds.json")
    assert json.loads(more) == {
        "zero_optimization": {"stage": 2, "overlap_comm": True, "x": 5},
        "bf16": {"enabled": True},
    }
    assert json.loads(edit(text, [(("zero_optimization", "stage"), DELETE)], "ds.json")) == {
        "zero_optimization": {"overlap_comm": True}
    }


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**12), 10**12), st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(blacklist_categories=("Cs", "Cc"), max_codepoint=0x2000), max_size=20),
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(scalars)
def test_what_is_written_is_read_back_the_same(value: object) -> None:
    for kind in ("yaml", "json"):
        name = f"x.{kind}"
        text = edit('{"a": 0}' if kind == "json" else "a: 0\n", [(("a",), value)], name)
        back = load_any(text, name).value["a"]
        assert back == pytest.approx(value) if isinstance(value, float) else back == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e-4, "1.0e-4"),
        (2e-05, "2.0e-5"),
        (0.5, "0.5"),
        (3.0, "3.0"),
        ("no", '"no"'),
        ("1e3", '"1e3"'),
        (1e22, "1.0e+22"),
    ],
)
def test_numbers_are_written_so_that_every_yaml_reader_sees_a_number(value: object, text: str) -> None:
    import re

    assert dump_scalar(value) == text
    # PyYAML's own pattern for a float wants a dot and, in the exponent, a sign.
    if isinstance(value, float):
        assert re.fullmatch(r"[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?", text)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200))
def test_no_text_crashes_the_reader(text: str) -> None:
    for reader in (load, load_json, load_any):
        try:
            reader(text, "x")
        except PapertrainError as error:
            assert "\n" not in error.one_line()


@pytest.mark.parametrize(
    ("text", "path", "new", "after"),
    [
        ("venue:\nseeds:\n", ("venue",), "ACL", "venue: ACL\nseeds:\n"), ("venue:   # which\nseeds: 1\n", ("venue",), "ACL", "venue: ACL   # which\nseeds: 1\n"),
        ("a:\n  b:\n  c: 1\n", ("a", "b"), 3, "a:\n  b: 3\n  c: 1\n"), ("- a\n-\n- c\n", (1,), "b", "- a\n- b\n- c\n"), ("? a\n:\nb: 1\n", ("a",), 2, "? a\n: 2\nb: 1\n"),
        ("seeds:   # ours\n  - 1\n  - 2\nx: 1\n", ("seeds",), [3], "seeds: [3]  # ours\nx: 1\n"),
    ],
)  # fmt: skip
def test_an_empty_value_is_filled_behind_its_own_key_and_comments_stay(text: str, path: tuple[str | int, ...], new: object, after: str) -> None:  # fmt: skip
    assert edit(text, [(path, new)]) == after


def test_an_edit_that_would_touch_the_rest_is_refused_and_not_made() -> None:
    with pytest.raises(PapertrainError, match="change it by hand"):
        edit("x: &a 1\ny: *a\n", [(("x",), 2)])
