"""Rows that stand in the training and in the evaluation data."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import structs

from papertrain.configs.checking.accounting import data_files
from papertrain.configs.checking.document import ConfigDocument, Wrong
from papertrain.configs.checking.rows import SharedRows
from papertrain.configs.checking.world import Columns, World
from papertrain.core.errors import PapertrainError
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.training import TrainingPlan
from papertrain.core.values import Source, Value
from papertrain.core.workspace import Study, Workspace

PARTS = ("test", "validation")
Shared = Callable[[Path, Path, Columns], SharedRows | None]


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if document.kind == "data":
        yield from _among_files(document, world)
    elif document.kind == "study":
        yield from _of_the_study(document, world)
    elif document.trains:
        train = {path for _, path in data_files(document, world) if path}
        for name, path in data_files(document, world, "eval_dataset"):
            if path is None:
                continue
            if path in train:
                yield Wrong(
                    says=say("`{name}` is trained on and evaluated on: the evaluation measures memory", name=name),
                    at=("eval_dataset",),
                    instead=say("another data set, or `val_size`"),
                    level="error",
                )
            else:
                yield from (w for t in sorted(train) for w in _overlap(world, t, path, ("eval_dataset",)))


def _among_files(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    """Among data files that are checked together: names tell which one trains."""
    others = [d for d in world.documents if d.kind == "data" and d.path and d is not document]
    if document.path is None or not _tests(document.path):
        return
    for other in others:
        if other.path and not _tests(other.path):
            yield from _overlap(world, other.path, document.path, ())


def _tests(path: Path) -> bool:
    return any(word in path.stem.lower() for word in ("test", "eval", "valid", "dev", "heldout"))


def _of_the_study(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    """The files of a workspace: what is trained on stands in its plans, what is held out in its study.toml."""
    if document.path is None:
        return
    work = Workspace(document.path.parent)
    try:
        study, plans = work.study, [work.plan(m) for m in work.methods()]
    except PapertrainError:  # another rule's
        return
    for both in in_two_files(work, study, plans, world.shared):
        at = (f"datasets.{both.dataset}",)
        line = _line_of(document, both.part, document.line(*at))
        yield structs.replace(_wrong(both.found, both.train, both.held_out, at), line=line)


class InTwoFiles(Value, frozen=True, kw_only=True):
    """The rows of a data set's test (or validation) file that stand in its training file too."""

    dataset: str
    part: str
    train: Path
    held_out: Path
    found: SharedRows


def in_two_files(
    work: Workspace, study: Study, plans: Sequence[TrainingPlan], shared: Shared, parts: Sequence[str] = PARTS
) -> Iterator[InTwoFiles]:
    """What the data sets of a study train on and hold out at once, each file read as the plans read it."""
    columns = next((p.dataset.columns for p in plans if p.dataset is not None), None)
    for data in study.datasets:
        for part, name in (("test", data.test), ("validation", data.validation)):
            if part in parts and data.train and name:
                train, held_out = work.root / data.train, work.root / name
                if (found := shared(train, held_out, columns)) is not None:
                    yield InTwoFiles(dataset=data.name, part=part, train=train, held_out=held_out, found=found)


def _line_of(document: ConfigDocument, key: str, table: int) -> int:
    """Where a table says the key; the table's own line where it does not."""
    rest = enumerate(document.text.splitlines()[table:], table + 1)
    return next((i for i, line in rest if re.match(rf"\s*{key}\s*=", line)), table)


def _overlap(world: World, train: Path, test: Path, at: tuple[str, ...]) -> Iterator[Wrong]:
    found = world.shared(train, test, None)
    if found is not None:
        yield _wrong(found, train, test, at)


def _wrong(found: SharedRows, train: Path, test: Path, at: tuple[str, ...]) -> Wrong:
    return Wrong(says=in_words(found, train.name, test.name), at=at, line=0 if at else found.line, instead=say("take them out of the training data"))  # fmt: skip


def in_words(found: SharedRows, train: str, test: str) -> str:
    share = 100 * found.both / found.rows
    return say(
        "{n:,} of {rows:,} rows of {test} stand in {train} too ({share:.1f} %): the first is line {line}, there line {there}",
        n=found.both, rows=found.rows, test=test, train=train, share=share, line=found.line, there=found.train_line,
    )  # fmt: skip


RULE = Rule(
    id="TR322",
    name="train-test-overlap",
    level="warning",
    status="stable",
    check=check,
    applies="data llamafactory study",
    effect="experiment",
    what="The same rows train and evaluate.",
    why="What the evaluation then measures is memory, and the numbers cannot be reported.",
    known_problems="Rows are compared by their text; labels, ids and other columns are left out, and a paraphrase is not found. Files above 64 MiB are not compared.",
    source=Source(kind="rule", ref="an evaluation needs data that training has not seen"),
    fires='== test.jsonl\n{"instruction": "same question", "output": "b"}\n== train.jsonl\n{"instruction": "same question", "output": "b"}\n',
    quiet='== test.jsonl\n{"instruction": "another question", "output": "b"}\n== train.jsonl\n{"instruction": "same question", "output": "b"}\n',
)
