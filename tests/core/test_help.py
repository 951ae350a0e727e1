"""The help of a verb has each heading once."""

from __future__ import annotations

import re

import pytest

from papertrain import verbs
from papertrain.cli import parser_of


@pytest.mark.parametrize("verb", verbs.names())
def test_no_heading_stands_twice(verb: str) -> None:
    heads = re.findall(r"^([a-z][a-z ]+):$", parser_of(verb).format_help(), re.M)
    assert len(heads) == len(set(heads)) and "options" in heads, heads
