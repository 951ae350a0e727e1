"""Rows that stand in the training and in the evaluation data."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from papertrain.configs.checking.accounting import data_files
from papertrain.configs.checking.document import ConfigDocument, Wrong
from papertrain.configs.checking.world import World
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source

LIMIT = 64 * 2**20


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if document.kind == "data":
        yield from _among_files(document, world)
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
                yield from (w for t in sorted(train) for w in _overlap(t, path, ("eval_dataset",)))


def _among_files(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    """Among data files that are checked together: names tell which one trains."""
    others = [d for d in world.documents if d.kind == "data" and d.path and d is not document]
    if document.path is None or not _tests(document.path):
        return
    for other in others:
        if other.path and not _tests(other.path):
            yield from _overlap(other.path, document.path, ())


def _tests(path: Path) -> bool:
    return any(word in path.stem.lower() for word in ("test", "eval", "valid", "dev", "heldout"))


def _overlap(train: Path, test: Path, at: tuple[str, ...]) -> Iterator[Wrong]:
    seen, rows = _hashes(train), _hashes(test)
    both = sum(1 for h in rows if h in set(seen))
    if both:
        yield Wrong(says=say("{n:,} of {rows:,} rows of {test} stand in {train} too ({share:.1f} %)", n=both, rows=len(rows), test=test.name, train=train.name, share=100 * both / len(rows)),
                    at=at, instead=say("take them out of the training data"))  # fmt: skip


def _hashes(path: Path) -> list[bytes]:
    """One digest per row, blanks at its ends left out; nothing for large or binary files."""
    try:
        if path.stat().st_size > LIMIT or path.suffix.lower() not in (".jsonl", ".csv", ".tsv", ".txt", ".json"):
            return []
        lines = path.read_bytes().splitlines()
    except OSError:
        return []
    body = lines[1:] if path.suffix.lower() in (".csv", ".tsv") else lines
    return [hashlib.blake2b(s.rstrip(b","), digest_size=12).digest() for line in body if len(s := line.strip()) > 8]


RULE = Rule(
    id="TR322",
    name="train-test-overlap",
    level="warning",
    status="stable",
    check=check,
    applies="data llamafactory",
    effect="experiment",
    what="The same rows train and evaluate.",
    why="What the evaluation then measures is memory, and the numbers cannot be reported.",
    known_problems="Only equal rows are found; a paraphrase is not.",
    source=Source(kind="rule", ref="an evaluation needs data that training has not seen"),
    fires='== test.jsonl\n{"instruction": "same question", "output": "b"}\n== train.jsonl\n{"instruction": "same question", "output": "b"}\n',
    quiet='== test.jsonl\n{"instruction": "another question", "output": "b"}\n== train.jsonl\n{"instruction": "same question", "output": "b"}\n',
)
