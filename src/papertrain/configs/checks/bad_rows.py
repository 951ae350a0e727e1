"""Rows of the training data that a loader refuses, or that say nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from papertrain.configs.checking.accounting import local_files
from papertrain.configs.checking.document import ConfigDocument, Wrong
from papertrain.configs.checking.rows import RowFault
from papertrain.configs.checking.world import World
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Level, Source

LEVELS: dict[str, Level] = {"damaged": "error", "unfit": "error"}


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    own = document.kind == "data"
    files: list[tuple[str, Path]] = []
    if own and document.path is not None:
        files = [(document.file, document.path)]
    elif document.trains and document.role not in ("override", "script"):
        # A file that is checked itself tells of its own rows.
        checked = {d.path.resolve() for d in world.documents if d.kind == "data" and d.path}
        files = [(name, path) for name, path in local_files(document, world) if path.resolve() not in checked]
    key = next((k for k in ("dataset", "datasets", "dataset_name") if k in document.settings), "")
    for _, path in files:
        for fault in world.faults(path, None if own else document):
            if fault.kind == "empty":  # what trains nothing is another rule's
                continue
            place = "" if own else f"{path.name}:{fault.line}: "
            yield Wrong(
                says=place + _says(fault),
                line=fault.line if own else 0,
                at=(key,) if key and not own else (),
                instead=say("take the second one out, unless it is meant to weigh twice")
                if fault.kind == "duplicate"
                else say("mend or remove the row")
                if fault.count == 1
                else say("mend or remove these rows"),
                level=LEVELS.get(fault.kind, "warning"),
            )


def _says(f: RowFault) -> str:
    share = 100 * f.count / max(f.rows, 1)
    values = {"n": f.count, "rows": f.rows, "share": share, "says": f.says, "line": f.line}
    if f.kind == "damaged":
        return say("{n:,} of {rows:,} rows: no JSON that can be read ({says}); the loader stops there", **values)
    if f.kind == "unfit":
        return say("{n:,} of {rows:,} rows: {says}; the loader refuses such a row", **values)
    if f.kind == "left out":
        return say("{n:,} of {rows:,} rows: {says}; plan and script leave such a row out", **values)
    if f.kind == "order":
        return say("{n:,} of {rows:,} rows: {says}; such a row is dropped, or a template refuses it", **values)
    if f.kind == "same":
        return say(
            "{n:,} of {rows:,} pairs ({share:.1f} %): chosen and rejected are equal, they teach nothing", **values
        )
    return say("{n:,} of {rows:,} rows: duplicate of another (first of line {says})", **values)


RULE = Rule(
    id="TR356",
    name="bad-rows",
    level="warning",
    status="stable",
    check=check,
    applies="data llamafactory axolotl trl",
    effect="experiment",
    what="Rows that the data loader refuses, that repeat another one, or that hold nothing to learn.",
    why="One damaged line stops the loading; rows that are dropped or repeated change what the paper says it trained on.",
    known_problems="The first 200,000 rows of a file are looked at. Duplicates are rows that are equal in all that is trained.",
    source=Source(
        kind="code",
        ref="llamafactory 0.9.5 data/converter.py and processor/: unknown roles raise, broken turns are dropped; datasets' JSON reader stops at a damaged line",
    ),
    fires='== d.jsonl\n{"instruction": "a", "input": "", "output": "b"}\n{"instruction": "c", "input": "", "output": "d"}\n{broken\n',
    quiet='== d.jsonl\n{"instruction": "a", "input": "", "output": "b"}\n{"instruction": "c", "input": "", "output": "d"}\n',
)
