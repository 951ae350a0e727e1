"""One of a thing is one thing: `agreed` mends every sentence that counts, and breaks none that only looks so."""

from __future__ import annotations

import ast
import re
import string
from pathlib import Path

import pytest

from papertrain.core.counts import MANY, NOUNS, agreed, for_many, singular
from papertrain.core.errors import PapertrainError
from papertrain.core.report import Report
from papertrain.core.texts import say
from papertrain.core.values import Decision, Source

SRC = Path(__file__).resolve().parents[2] / "src" / "papertrain"
NOT_COUNTS = {"rank", "step", "version", "port", "card", "name", "who", "id", "id_", "tool", "cls", "command"}


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("1 epochs for 400 examples", "1 epoch for 400 examples"),
        ("not complete: 1 things are missing", "not complete: 1 thing is missing"),
        ("check finds 1 errors: x", "check finds 1 error: x"),
        ("1 numbers of earlier tables are stale", "1 number of earlier tables are stale"),
        ("1 more runs", "1 more run"),
        ("only 1 optimizer steps", "only 1 optimizer step"),
        ("1 batches, 1 entries, 1 losses, 1 classes", "1 batches, 1 entry, 1 loss, 1 class"),
        ("1 of 1 runs scored", "1 of 1 runs scored"),
        ("11 epochs, 0.1 epochs, 1.0 epochs, 2 × 1 cards", "11 epochs, 0.1 epochs, 1.0 epochs, 2 × 1 cards"),
        ("rank 1 waits and step 1 stands", "rank 1 waits and step 1 stands"),
        ("grid of 1 of the rows", "grid of 1 of the rows"),
    ],
)
def test_a_count_and_its_noun_agree(text: str, right: str) -> None:
    assert agreed(text) == right


def test_every_noun_comes_back() -> None:
    for noun in NOUNS:
        assert MANY[singular(noun)] == noun
        assert for_many(agreed(f"it has 1 {noun}")) == f"it has 1 {noun}"


def sentences() -> set[str]:
    found = set()
    for path in SRC.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "say" and node.args:
                found |= {
                    c.value for c in ast.walk(node.args[0]) if isinstance(c, ast.Constant) and isinstance(c.value, str)
                }
    return found


def test_no_sentence_of_the_catalogue_says_one_things() -> None:
    """Every sentence with every count at 1: no noun that this package counts stays in the plural after it."""
    wrong = []
    for sentence in sentences():
        names = {n for _, n, _, _ in string.Formatter().parse(sentence) if n}
        try:
            told = say(sentence, **dict.fromkeys(names, 1))
        except (ValueError, KeyError, AttributeError):
            continue
        for name in names & {"n", "all", "files", "numbers", "t", "f", "k"}:
            bare = re.search(rf"(?<!of )(?<!to )\{{{name}(?::,)?\}} ([a-z]+s)\b", sentence)
            if bare and bare[1] in NOUNS and re.search(rf"(?<!of )(?<!to )\b1 {bare[1]}\b", told):
                wrong.append((sentence, told))
        assert "(s)" not in sentence, sentence
    assert not wrong


def test_reasons_errors_and_answers_agree_too() -> None:
    why = Decision(
        name="epochs", value=1, why="1 epochs for 1 examples: a cap", source=Source(kind="rule", ref="x")
    ).why
    assert why == "1 epoch for 1 example: a cap"
    assert PapertrainError("holds 1 rows").says == "holds 1 row"
    told = Report(verb="x", result="1 errors", explanation="1 rows", warnings=("1 files left",))
    assert (told.result, told.explanation, told.warnings) == ("1 error", "1 row", ("1 file left",))
