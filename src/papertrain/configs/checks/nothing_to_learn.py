"""Rows whose labels are all masked: empty answers, or answers behind the cut; and rows of one class only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from papertrain.configs.checking.accounting import data_files
from papertrain.configs.checking.document import ConfigDocument, Wrong
from papertrain.configs.checking.rows import RowFault
from papertrain.configs.checking.world import World
from papertrain.core.findings import Rule
from papertrain.core.models import DatasetProfile
from papertrain.core.texts import say
from papertrain.core.values import Source

# One empty answer in a thousand is a slip of the pen; more is a slip of the conversion.
TOLERATED = 0.001


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    files: list[tuple[str, Path | None]] = (
        [(document.file, document.path)]
        if document.kind == "data"
        else data_files(document, world)
        if document.trains
        else []
    )
    for name, path in files:
        found = world.profile(path, None if document.kind == "data" else document) if path else None
        if found is None or not found.rows:
            continue
        at = ("dataset",) if "dataset" in document.settings else ()
        if found.trainable_tokens == 0 and found.tokens:
            yield Wrong(says=say("no token of {name} is trained: every label is masked", name=name), at=at, level="error",
                        instead=say("look at one row: papertrain check {name} --show 1", name=name))  # fmt: skip
        if found.format.startswith("classification") and len(found.labels) == 1 and found.rows > 1:
            yield Wrong(says=say("every row of {name} has the label {label}: there is nothing to tell apart", name=name, label=repr(next(iter(found.labels)))[:60]), at=at,
                        instead=say("rows of at least two classes, or the column that holds the label"))  # fmt: skip
        yield from _empty(
            name, found, at, world.faults(path, None if document.kind == "data" else document) if path else ()
        )
        # Where rows can be looked at one by one, another rule names each kind of bad row with its line.
        if found.bad_rows and world.inspector is None:
            yield _unread(name, found, at)


def _empty(name: str, found: DatasetProfile, at: tuple[str, ...], faults: tuple[RowFault, ...]) -> Iterator[Wrong]:
    if found.empty_answers <= TOLERATED * found.rows:
        return
    line = next((f.line for f in faults if f.kind == "empty"), 0)
    where = say(", the first in line {line}", line=line) if line else ""
    share = 100 * found.empty_answers / found.rows
    if found.format.startswith(("text", "classification")):
        yield Wrong(
            says=say("{n:,} of {rows:,} rows of {name} have no text ({share:.1f} %{where}): they are left out", n=found.empty_answers, rows=found.rows, name=name, share=share, where=where),
            at=at, line=0 if at else line, instead=say("remove these rows, or find the column that holds the text"),
        )  # fmt: skip
        return
    yield Wrong(
        says=say("{n:,} of {rows:,} rows of {name} have an empty answer ({share:.1f} %{where}): nothing in them is trained", n=found.empty_answers, rows=found.rows, name=name, share=share, where=where),
        at=at, line=0 if at else line, instead=say("remove these rows, or find the column that holds the answer"),
    )  # fmt: skip


def _unread(name: str, found: DatasetProfile, at: tuple[str, ...]) -> Wrong:
    shown = found.examples_of_bad_rows[:1]
    where = f" ({shown[0].file}:{shown[0].line}: {shown[0].says})" if shown else ""
    return Wrong(
        says=say("{n:,} of {rows:,} rows of {name} cannot be read{where}", n=found.bad_rows, rows=found.rows, name=name, where=where),
        at=at, instead=say("mend or remove them"), level="error",
    )  # fmt: skip


RULE = Rule(
    id="TR320",
    name="nothing-to-learn",
    level="warning",
    status="stable",
    check=check,
    applies="data llamafactory axolotl trl",
    effect="experiment",
    what="Rows that train nothing: the answer is empty, every label is masked, or the row cannot be read.",
    why="They cost time and lower the loss that is shown; where it is all of them, the loss is 0 or NaN from the first step.",
    source=Source(kind="rule", ref="a masked label (-100) has no gradient"),
    fires='== d.jsonl\n{"instruction": "a", "input": "", "output": ""}\n{"instruction": "b", "input": "", "output": "c"}\n',
    quiet='== d.jsonl\n{"instruction": "a", "input": "", "output": "x"}\n{"instruction": "b", "input": "", "output": "c"}\n',
)
