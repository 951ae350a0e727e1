"""TrainingArguments and their kin as they are built in a Python file, found by reading it: nothing is run."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from papertrain.configs.checking.document import ConfigDocument, Kind, Place, Spans
from papertrain.core.errors import PapertrainError

TRL_CONFIGS = {
    "SFTConfig": "sft",
    "DPOConfig": "dpo",
    "GRPOConfig": "grpo",
    "KTOConfig": "kto",
    "RewardConfig": "reward",
    "RLOOConfig": "rloo",
}
TRAINERS = {"TrainingArguments", "Seq2SeqTrainingArguments"}


class Unread:
    """A value that only running the program would tell."""

    def __repr__(self) -> str:
        return "…"


UNREAD = Unread()


def read(text: str, name: str, path: Path | None) -> list[ConfigDocument]:
    """The calls of a script. Raises PapertrainError where it is not Python."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise PapertrainError(
            f"not valid Python: {error.msg}", code="not-python", file=name, line=error.lineno or 0
        ) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise PapertrainError(f"not readable as Python: {error}", code="not-python", file=name) from None
    starts = _line_starts(text)
    own = {n.name for n in ast.walk(tree) if isinstance(n, ast.ClassDef)} | _of_others(tree)
    documents = []
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and (called := _called(node)) in TRAINERS | set(TRL_CONFIGS)
            and called not in own
        ):
            documents.append(_document(node, called, text, name, path, starts))
    return documents


def _of_others(tree: ast.AST) -> set[str]:
    """Names that a project's own module provides: a `GRPOConfig` of its own has keys of its own."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] not in (
            "transformers",
            "trl",
            "tensorflow",
        ):
            found |= {alias.asname or alias.name for alias in node.names}
    return found


def _called(node: ast.Call) -> str:
    return (
        node.func.id
        if isinstance(node.func, ast.Name)
        else node.func.attr
        if isinstance(node.func, ast.Attribute)
        else ""
    )


def _line_starts(text: str) -> list[int]:
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


def _offset(text: str, starts: list[int], line: int, column: int) -> int:
    """ast counts columns in UTF-8 bytes."""
    begin = starts[line - 1]
    head = text[begin : starts[line]].encode()[:column]
    return begin + len(head.decode("utf-8", "ignore"))


def _document(
    node: ast.Call, called: str, text: str, name: str, path: Path | None, starts: list[int]
) -> ConfigDocument:
    settings: dict[str, Any] = {}
    lines: dict[Place, int] = {}
    spans: dict[str, Spans] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            continue
        begin = _offset(text, starts, keyword.lineno, keyword.col_offset)
        value_begin = _offset(text, starts, keyword.value.lineno, keyword.value.col_offset)
        end = _offset(text, starts, keyword.value.end_lineno or keyword.value.lineno, keyword.value.end_col_offset or 0)
        settings[keyword.arg] = _value(keyword.value)
        lines[(keyword.arg,)] = keyword.lineno
        spans[keyword.arg] = Spans(key=(begin, begin + len(keyword.arg)), value=(value_begin, end), whole=(begin, end))
    kind: Kind = "trl" if called in TRL_CONFIGS else "trainer"
    return ConfigDocument(file=name, path=path, kind=kind, format="python", text=text, settings=settings, lines=lines, spans=spans,
                          strict=True, role=TRL_CONFIGS.get(called, "train"), start=node.lineno, part=called)  # fmt: skip


def _value(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return UNREAD
