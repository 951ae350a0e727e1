"""The rows that the script learns from and holds out are those that the plan counted: one arithmetic, no torch needed."""

from __future__ import annotations

import ast
import csv
import json
import types
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from papertrain.configs.targets.script import TEMPLATES
from papertrain.data.profile import profile
from papertrain.plan.steps_batch import held_back, train_sequences, validation_share
from papertrain.verbs.checking.rows import row_faults


def script() -> Any:
    """The functions of train.py that need neither torch nor transformers."""
    tree = ast.parse((TEMPLATES / "train.py").read_text("utf-8"))
    names = {"read_rows", "to_messages", "asked_and_answered", "unfit", "usable", "split"}
    tree.body = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name in names]
    found = types.ModuleType("train")
    exec("import bz2, csv, gzip, itertools, json, lzma, random, sys\nfrom pathlib import Path", found.__dict__)
    exec(compile(tree, "train.py", "exec"), found.__dict__)
    return found


def arguments(**more: Any) -> Namespace:
    names = ("prompt_column", "query_column", "response_column", "messages_column")
    return Namespace(
        task="classification", text_column="text", label_column="label", **dict.fromkeys(names, ""), **more
    )


def with_gaps(file: Path) -> None:
    """60 reviews, three without a label, one without text, one whose label is blank."""
    with file.open("w", newline="") as f:
        out = csv.writer(f)
        out.writerow(["id", "text", "label"])
        for i in range(60):
            label = "" if i in (3, 20, 41) else "  " if i == 50 else ("fresh", "rotten")[i % 2]
            out.writerow([i, "" if i == 7 else f"film {i} was seen", label])


def test_rows_without_a_label_or_text_are_no_class_of_their_own(tmp_path: Path) -> None:
    file = tmp_path / "reviews.csv"
    with_gaps(file)
    found = profile(file, model=None, cutoff=512)
    kept = script().usable(script().read_rows(file), arguments(), "reviews.csv")
    assert len(kept) == found.examples == 55
    assert {row["label"] for _, row in kept} == set(found.labels) == {"fresh", "rotten"}
    assert [i for i, _ in kept] == [i for i in range(60) if i not in (3, 7, 20, 41, 50)]
    faults = {f.kind: f.count for f in row_faults(file, None)}
    assert faults == {"left out": 4, "empty": 1}


CHATS: list[dict[str, Any]] = [
    {"instruction": "Say a.", "input": "", "output": "a"},
    {"instruction": "Say b.", "input": "", "output": ""},
    {"instruction": "", "input": "", "output": "c"},
    {"instruction": "Say d.", "input": "", "output": None},
    {"instruction": "Say e.", "input": "now", "output": "  "},
    {"instruction": "Say f.", "input": None, "output": "f"},
]
TALKS: list[dict[str, Any]] = [
    {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]},
    {"messages": [{"role": "user", "content": "a"}]},
    {"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}, {"role": "assistant", "content": "c"}]},
    {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": ""}]},
    {"messages": [{"role": "user"}, {"role": "assistant", "content": "b"}]},
    {"messages": []},
    {"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]},
]  # fmt: skip


@pytest.mark.parametrize("rows", [CHATS, TALKS], ids=["alpaca", "messages"])
def test_conversations_are_left_out_as_the_plan_leaves_them_out(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(r) + "\n" for r in rows))
    args = arguments()
    args.task = "sft"
    kept = script().usable(script().read_rows(file), args, "rows.jsonl")
    assert len(kept) == profile(file, model=None, cutoff=512).examples


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({"prompt_column": "q", "response_column": "a"}, ["Q", "A"]),
        ({"messages_column": "log"}, ["L", "M"]),
        ({"text_column": "body"}, ["B"]),
        ({}, ["x", "y"]),
    ],
    ids=["pairs", "messages", "text", "none"],
)
def test_a_column_that_was_named_goes_before_all_that_could_be_recognised(
    named: dict[str, str], said: list[str]
) -> None:
    talk = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]
    log = [{"role": "user", "content": "L"}, {"role": "assistant", "content": "M"}]
    row = {"messages": talk, "log": log, "q": "Q", "a": "A", "body": "B", "prompt": "p", "completion": "c"}
    args = arguments()
    args.task = "sft"
    vars(args).update(named)
    assert [m["content"] for m in script().to_messages(row, args)] == said


def test_a_file_of_nothing_else_is_refused_with_the_reason(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"a": 1}\n')
    args = arguments()
    args.task = "sft"
    with pytest.raises(SystemExit, match="no question and answer"):
        script().usable(script().read_rows(file), args, "a.jsonl")


@pytest.mark.parametrize("n", [*range(40, 400, 7), 117, 197, 4_999, 50_001, 123_457])
def test_as_many_are_held_out_as_the_plan_says(n: int, data_of: Callable[[int], Any]) -> None:
    data = data_of(n)
    for task in ("classification", "sft"):
        share = validation_share(task, data)
        trained, held = script().split(list(range(n)), share.value)
        assert len(trained) == train_sequences(task, data, share.value, 512, False)
        assert len(held) == held_back(n, share.value)
        if share.value:
            assert share.why.startswith(f"{len(held):,} of {n:,} examples")


@pytest.fixture
def data_of() -> Callable[[int], Any]:
    from papertrain.core.models import DatasetProfile

    return lambda n: DatasetProfile(path="x", sha256="0", format="alpaca (jsonl)", rows=n, examples=n)
