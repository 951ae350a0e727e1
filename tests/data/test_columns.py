"""Columns that somebody named: the format follows from the parts, other columns neither help nor mislead."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from papertrain.core.errors import PapertrainError
from papertrain.data.columns import layout_for, parse
from papertrain.data.profile import profile


@pytest.mark.parametrize(
    ("row", "said", "format", "columns"),
    [
        ({"frage": "q", "antwort": "a", "text": "no", "label": "x"}, "prompt=frage,answer=antwort", "prompt-completion", {"prompt": "frage", "response": "antwort"}),
        ({"q": "q", "more": "m", "a": "a"}, "question=q,input=more,answer=a", "alpaca", {"prompt": "q", "query": "more", "response": "a"}),
        ({"what": "t", "kind": "k", "label": 3}, "text=what,label=kind", "classification", {"text": "what", "label": "kind"}),
        ({"log": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}], "text": "t"}, "messages=log", "messages", {"messages": "log"}),
        ({"log": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]}, "messages=log", "sharegpt", {"messages": "log"}),
        ({"p": "q", "good": "a", "bad": "b", "chosen": "z", "rejected": "y"}, "prompt=p,chosen=good,rejected=bad", "preference", {"prompt": "p", "chosen": "good", "rejected": "bad"}),
        ({"p": "q", "r": "a", "ok": True}, "prompt=p,response=r,label=ok", "kto", {"prompt": "p", "response": "r", "label": "ok"}),
        ({"body_html": "t", "label": "x"}, "text=body_html", "text", {"text": "body_html"}),
        ({"prompt": "q", "reply": "a"}, "answer=reply", "prompt-completion", {"prompt": "prompt", "response": "reply"}),
        ({"prompt": "wrong", "completion": "wrong", "q": "q", "a": "a"}, "prompt=q,response=a", "prompt-completion", {"prompt": "q", "response": "a"}),
    ],
    ids=["pairs", "alpaca", "classes", "messages", "sharegpt", "preference", "kto", "text", "partly", "over-the-usual"],
)  # fmt: skip
def test_the_format_follows_from_the_parts(
    row: dict[str, Any], said: str, format: str, columns: dict[str, str]
) -> None:
    found = layout_for([row], None, parse([said]), Path("d.jsonl"))
    assert found is not None and (found.format, found.columns) == (format, columns)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("prompt", "write PART=COLUMN"),
        ("prompt=", "write PART=COLUMN"),
        ("promt=q", "no part 'promt'"),
        ("prompt=q,question=p", "two columns for prompt"),
    ],
)
def test_what_is_no_mapping_is_one_line(said: str, message: str) -> None:
    with pytest.raises(PapertrainError, match=message):
        parse([said])


def test_a_column_that_is_not_there_and_parts_that_make_nothing_are_told(tmp_path: Path) -> None:
    file = tmp_path / "d.jsonl"
    file.write_text('{"frage": "q", "antwort": "a"}\n')
    with pytest.raises(PapertrainError, match="no column 'fragen' for prompt: there are frage, antwort") as error:
        profile(file, model=None, cutoff=64, columns=parse(["prompt=fragen,answer=antwort"]))
    assert error.value.nearest == "frage"
    with pytest.raises(PapertrainError, match="prompt=frage make no training data"):
        profile(file, model=None, cutoff=64, columns=parse(["prompt=frage"]))


def test_rows_are_counted_by_the_named_columns(tmp_path: Path) -> None:
    file = tmp_path / "d.jsonl"
    rows = [{"frage": f"q {i}", "antwort": "" if i == 3 else f"a {i}", "text": "x"} for i in range(9)]
    file.write_text("".join(json.dumps(r) + "\n" for r in rows))
    found = profile(file, model=None, cutoff=64, columns=parse(["prompt=frage", "answer=antwort"]))
    assert (found.rows, found.examples, found.empty_answers) == (9, 8, 1)
    assert found.columns == {"prompt": "frage", "response": "antwort"}
