"""Edits of a document → the new text of its file, and the diff that shows it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any

from papertrain.configs.checking.document import ConfigDocument, Edit
from papertrain.configs.checking.trees import parsed
from papertrain.core import yaml
from papertrain.core.errors import PapertrainError
from papertrain.core.files import unified


def patch(document: ConfigDocument, edits: Sequence[Edit]) -> str:
    """The unified diff that these edits make of the user's own file; empty where they cannot be made."""
    new = apply(document, document.text, edits)
    return "" if new is None or new == document.text else unified(document.text, new, document.file)


def apply(document: ConfigDocument, text: str, edits: Sequence[Edit]) -> str | None:
    """The text with the edits made, or None where one has lost its place."""
    try:
        for edit in edits:
            if edit.op == "swap":
                text = _swap(text, edit)
            elif document.format in ("yaml", "json"):
                text = _tree(document, text, edit)
            else:
                text = _spans(document, text, edit)
    except (PapertrainError, ValueError, KeyError, IndexError):
        return None
    return text


def at_once(document: ConfigDocument, text: str, edits: Sequence[Edit]) -> str | None:
    """Edits of different places of one tree, with the text read once; None where they cannot be made so."""
    if document.format not in ("yaml", "json") or any(e.op == "swap" for e in edits):
        return None
    try:
        tree = parsed(text, document.file)
        if any(e.op == "drop" and e.path not in tree.spans for e in edits):
            return None
        renamed = sorted(((tree.key_spans[e.path], e.new) for e in edits if e.op == "rename"), reverse=True)
        for (start, end), new in renamed:
            text = text[:start] + (f'"{new}"' if text[start] == '"' else new) + text[end:]
        rest = [(e.path, yaml.DELETE if e.op == "drop" else e.value) for e in edits if e.op != "rename"]
        return yaml.edit(text, rest, document.file) if rest else text
    except (PapertrainError, ValueError, KeyError, IndexError):
        return None


def _swap(text: str, edit: Edit) -> str:
    lines = text.splitlines(keepends=True)
    line = lines[edit.line - 1]
    if edit.old not in line:
        raise ValueError(edit.old)
    lines[edit.line - 1] = (
        re.sub(rf"(?<![\w-]){re.escape(edit.old)}", lambda _: edit.new, line, count=1)
        if edit.old[:1].isalnum()
        else line.replace(edit.old, edit.new, 1)
    )
    return "".join(lines)


def _tree(document: ConfigDocument, text: str, edit: Edit) -> str:
    if edit.op == "rename":
        tree = parsed(text, document.file)
        start, end = tree.key_spans[edit.path]
        return text[:start] + (f'"{edit.new}"' if text[start] == '"' else edit.new) + text[end:]
    if edit.op == "drop" and not _present(document, text, edit):
        raise KeyError(edit.path)
    return yaml.edit(text, [(edit.path, yaml.DELETE if edit.op == "drop" else edit.value)], document.file)


def _present(document: ConfigDocument, text: str, edit: Edit) -> bool:
    return edit.path in parsed(text, document.file).spans


def _spans(document: ConfigDocument, text: str, edit: Edit) -> str:
    """An argument of a call or a command. Spans belong to the document's own text, so one edit at a time."""
    if text != document.text:
        document = _again(document, text)
    key = str(edit.path[0])
    if edit.op == "set" and key not in document.spans:
        return _append(document, text, key, edit.value)
    spans = document.spans[key]
    if edit.op == "rename":
        head = "--" if text[spans.key[0] : spans.key[0] + 2] == "--" else ""
        return text[: spans.key[0]] + head + edit.new + text[spans.key[1] :]
    if edit.op == "set":
        gap = " " if document.format == "shell" and spans.value[0] == spans.key[1] else ""
        return text[: spans.value[0]] + gap + _written(document, edit.value) + text[spans.value[1] :]
    return _without(document, text, spans.whole)


def _again(document: ConfigDocument, text: str) -> ConfigDocument:
    from papertrain.configs.checking.read import read_source

    found = [
        d
        for d in read_source(text, document.file, document.path)
        if d.kind == document.kind and d.part == document.part
    ]
    return next((d for d in found if abs(d.start - document.start) <= 2), found[0])


def _written(document: ConfigDocument, value: Any) -> str:
    if document.format == "python":
        return repr(value)
    return shlex.quote(str(value).lower() if isinstance(value, bool) else str(value))


def _append(document: ConfigDocument, text: str, key: str, value: Any) -> str:
    end = max(s.whole[1] for s in document.spans.values())
    written = _written(document, value)
    if document.format == "python":
        return text[:end] + f", {key}={written}" + text[end:]
    return text[:end] + f" --{key} {written}" + text[end:]


def _without(document: ConfigDocument, text: str, whole: tuple[int, int]) -> str:
    start, end = whole
    if document.format == "python":
        after = re.match(r"\s*,[ \t]*", text[end:])
        end += after.end() if after else 0
        line_start = text.rfind("\n", 0, start) + 1
        if not text[line_start:start].strip() and text[end : end + 1] == "\n":
            return text[:line_start] + text[end + 1 :]
        return text[:start] + text[end:]
    line_start = text.rfind("\n", 0, start) + 1
    if not text[line_start:start].strip() and (rest := re.match(r"[ \t]*\\\r?\n", text[end:])):
        return text[:line_start] + text[end + rest.end() :]
    before = re.search(r"[ \t]+$", text[:start])
    return text[: before.start() if before else start] + text[end:]
