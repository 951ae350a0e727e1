"""An entry of dataset_info.json that does not fit its file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from papertrain.configs.checking.document import ConfigDocument, Wrong, rename, set_to
from papertrain.configs.checking.rows import first_columns
from papertrain.configs.checking.world import World, exists
from papertrain.core.errors import nearest
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source

ENTRY = ("hf_hub_url", "ms_hub_url", "om_hub_url", "script_url", "cloud_file_name", "file_name", "formatting", "ranking", "subset", "split", "folder", "num_samples", "columns", "tags")  # fmt: skip
COLUMNS = (
    "prompt",
    "query",
    "response",
    "history",
    "messages",
    "system",
    "tools",
    "images",
    "videos",
    "audios",
    "chosen",
    "rejected",
    "kto_tag",
)
TAGS = ("role_tag", "content_tag", "user_tag", "assistant_tag", "observation_tag", "function_tag", "system_tag")
FORMATTING = ("alpaca", "sharegpt", "openai")
DEFAULTS = {"prompt": "instruction", "response": "output"}


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    for name, entry in document.settings.items():
        if not isinstance(entry, dict):
            yield Wrong(
                says=say("`{name}` must be a mapping that says where the data lie", name=name),
                at=(name,),
                instead=f'"{name}": {{"file_name": "{name}.jsonl"}}',
            )
            continue
        yield from _keys((name,), entry, ENTRY)
        for part, known in (("columns", COLUMNS), ("tags", TAGS)):
            if isinstance(entry.get(part), dict):
                yield from _keys((name, part), entry[part], known)
        form = entry.get("formatting")
        if form is not None and form not in FORMATTING:
            near = nearest(str(form), FORMATTING)
            yield Wrong(says=say("`formatting` of `{name}` is {form!r}, which is none of: {all}", name=name, form=form, all=", ".join(FORMATTING)), at=(name, "formatting"), instead=f'"formatting": "{near or "alpaca"}"',
                        edits=(set_to(name, "formatting", value=near),) if near else ())  # fmt: skip
        if not any(k in entry for k in ENTRY[:6]):
            yield Wrong(
                says=say("`{name}` says nowhere where its data lie", name=name),
                at=(name,),
                instead=f'"file_name": "{name}.jsonl"',
            )
        yield from _columns(document, name, entry)


def _keys(path: tuple[str, ...], table: dict[str, Any], known: tuple[str, ...]) -> Iterator[Wrong]:
    for key in table:
        if key not in known and not key.startswith("_"):
            near = nearest(key, known, cutoff=0.7)
            yield Wrong(says=say("`{key}` in `{where}` is not read", key=key, where=".".join(path)) + (say(": write `{near}`", near=near) if near else ""), at=(*path, key), instead=near or say("remove `{key}`", key=key),
                        edits=(rename(*path, key, new=near),) if near and near not in table else (), level="error" if near else "note")  # fmt: skip


def _columns(document: ConfigDocument, name: str, entry: dict[str, Any]) -> Iterator[Wrong]:
    """Named columns, and those that are taken where none is named, against the first rows of the file."""
    file = entry.get("file_name")
    path = document.path.parent / file if document.path and isinstance(file, str) and file else None
    have = first_columns(path) if path and exists(path) and path.is_file() else None
    if not have:
        return
    named = {str(k): v for k, v in entry["columns"].items()} if isinstance(entry.get("columns"), dict) else {}
    for role, column in named.items():
        if isinstance(column, str) and column not in have:
            near = nearest(column, have)
            yield Wrong(says=say("column {column!r} ({role} of `{name}`) is not in {file}, which has: {have}", column=column, role=role, name=name, file=file, have=", ".join(sorted(have)[:8])), at=(name, "columns", role),
                        instead=f'"{role}": "{near}"' if near else say("a column of the file"), edits=(set_to(name, "columns", role, value=near),) if near else ())  # fmt: skip
    if not named and entry.get("formatting", "alpaca") == "alpaca":
        missing = [d for d in DEFAULTS.values() if d not in have]
        if missing:
            yield Wrong(says=say("`{name}` names no columns, so {wanted} are looked for; {file} has: {have}", name=name, wanted=", ".join(DEFAULTS.values()), file=file, have=", ".join(sorted(have)[:8])), at=(name,),
                        instead='"columns": {"prompt": "…", "response": "…"}')  # fmt: skip


RULE = Rule(
    id="TR351",
    name="registry-entry",
    level="error",
    status="stable",
    check=check,
    applies="dataset_info",
    effect="experiment",
    what="An entry of dataset_info.json with a key that is not read, a form that does not exist, or a column that the file does not have.",
    why="A wrong key is passed over; a wrong column is a KeyError after the model is loaded, or an empty prompt.",
    source=Source(kind="code", ref="llamafactory 0.9.5 data/parser.py, DatasetAttr.join; data/converter.py"),
    fires='== dataset_info.json\n{"a": {"file_name": "a.jsonl", "columns": {"prompt": "question", "response": "answer"}}}\n== a.jsonl\n{"query": "x", "answer": "y"}\n',
    quiet='== dataset_info.json\n{"a": {"file_name": "a.jsonl", "columns": {"prompt": "query", "response": "answer"}}}\n== a.jsonl\n{"query": "x", "answer": "y"}\n',
)
