"""Streams that are full, closed or read by somebody who leaves: the exit code is that of the answer, and nothing is swallowed."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import scene
from runner import Done, command

from papertrain import verbs

ANSWERS: list[tuple[list[str], int]] = [
    (["explain", "TR103"], 0), (["check", "sft.yaml"], 1), (["check", "sft.yaml", "--json"], 1), (["status", "work"], 0), (["status", "work", "--fields", "grid"], 0),
    (["diagnose", "crash.log"], 0), (["compare", "a.csv", "b.csv", "--resamples", "100"], 0), (["evaluate", "pred.jsonl"], 0), (["next", "work"], 0),
    (["estimate", "--cases", "cases.jsonl", "--json"], 0), (["generate", "work", "--dry-run"], 0), (["watch", "train.log"], 0),
]  # fmt: skip
WRONG: list[tuple[list[str], int]] = [
    (["plan"], 2), (["nothing"], 2), (["check", "gone.yaml"], 2), (["status", "work", "--bogus"], 2), (["status", "work", "--bogus", "--json"], 2), (["status", "gone", "--json"], 2),
    (["status", "work", "--fields", "nothing"], 2), (["status", "work", "--fields=grid", "--bogus"], 2), (["launch", "work", "--run", "gone"], 2),
]  # fmt: skip


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("streams")
    scene.build(root)
    return root


def lead(*numbers: int, to: str) -> Callable[[], None]:
    def act() -> None:
        for number in numbers:
            if to == "nobody":
                read, write = os.pipe()
                os.close(read)
                os.dup2(write, number)
            else:
                os.dup2(os.open(to, os.O_WRONLY), number)
            # the stream of before knew that its file can be sought in
            stream = io.TextIOWrapper(io.BufferedWriter(io.FileIO(number, "w", closefd=False)), encoding="utf-8")
            setattr(sys, "stdout" if number == 1 else "stderr", stream)

    return act


def said(done: Done, code: int, words: Sequence[str]) -> None:
    assert done.code == code and "Traceback" not in done.err + done.out, (words, done.code, done.err[-400:])


@pytest.mark.parametrize("verb", ["", *verbs.names()])
def test_a_help_that_cannot_be_written_is_an_error(tmp_path: Path, verb: str) -> None:
    words = [verb, "--help"] if verb else ["--help"]
    said(command(*words, cwd=tmp_path), 0, words)
    done = command(*words, cwd=tmp_path, first=lead(1, to="/dev/full"))
    said(done, 2, words)
    assert len(done.err.strip().splitlines()) == 1 and "no space left" in done.err
    done = command(*words, cwd=tmp_path, first=lead(1, to="nobody"))
    said(done, 0, words)
    assert not done.err


@pytest.mark.parametrize(("words", "code"), ANSWERS, ids=lambda x: " ".join(x) if isinstance(x, list) else "")
def test_an_answer_that_nobody_reads_keeps_its_exit_code_and_one_that_cannot_be_written_is_an_error(here: Path, words: list[str], code: int) -> None:  # fmt: skip
    said(command(*words, cwd=here), code, words)
    done = command(*words, cwd=here, first=lead(1, to="nobody"))
    said(done, code, words)
    assert not done.err, "the reader left: nothing is wrong"
    done = command(*words, cwd=here, first=lead(1, to="/dev/full"))
    said(done, 2, words)
    assert len(done.err.strip().splitlines()) == 1 and "no space left" in done.err


@pytest.mark.parametrize(("words", "code"), ANSWERS + WRONG, ids=lambda x: " ".join(x) if isinstance(x, list) else "")
@pytest.mark.parametrize("to", ["nobody", "/dev/full"])
def test_messages_that_cannot_be_written_change_neither_the_answer_nor_the_exit_code(here: Path, to: str, words: list[str], code: int) -> None:  # fmt: skip
    whole = command(*words, cwd=here)
    done = command(*words, cwd=here, first=lead(2, to=to))
    said(done, code, words)
    assert done.out == whole.out


@pytest.mark.parametrize(("words", "code"), WRONG, ids=lambda x: " ".join(x) if isinstance(x, list) else "")
def test_a_mistake_is_one_line_on_standard_error_and_with_json_one_document_too(here: Path, words: list[str], code: int) -> None:  # fmt: skip
    done = command(*words, cwd=here)
    said(done, code, words)
    assert len(done.err.strip().splitlines()) == 1
    if any(w.startswith(("--json", "--fields")) for w in words):
        assert json.loads(done.out)["data"]["error"]["says"], "the parts that --fields names are parts of the document"
    else:
        assert not done.out
    for first in (lead(1, to="nobody"), lead(1, 2, to="nobody")):
        said(command(*words, cwd=here, first=first), code, words)
