"""The rows of a data file that a loader would refuse, or that teach nothing, and those that stand in two files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from papertrain.configs.checking.rows import RowFault, SharedRows
from papertrain.core.errors import PapertrainError

if TYPE_CHECKING:
    from papertrain.configs.checking.document import ConfigDocument
    from papertrain.data.examples import Example

MOST = 200_000
KINDS = 12
OVERLAP_BYTES = 64 * 2**20


def row_faults(
    path: Path, document: ConfigDocument | None, columns: Mapping[str, str] | None = None
) -> tuple[RowFault, ...]:
    """What is wrong with rows of the file, worst first; nothing for what is no data set."""
    from itertools import chain, islice

    from papertrain.data.columns import layout_for
    from papertrain.data.examples import RowError, example
    from papertrain.data.reading import BadLine, open_rows

    task = _task(document)
    try:
        stream = iter(open_rows(path).rows)
        head = list(islice(stream, 200))
        rows_seen = [r for _, r in head if not isinstance(r, BadLine)]
        layout = layout_for(rows_seen, task, columns, path)
        if layout is None:
            return ()
        found, rows = _Found(), 0
        seen: dict[bytes, int] = {}
        for line, row in islice(chain(head, stream), MOST):
            rows += 1
            try:
                if isinstance(row, BadLine):
                    found.add("damaged", row.says, line)
                    continue
                one = example(row, layout)
            except RowError as error:
                found.add(error.kind, str(error), line)
                continue
            if one.empty:
                found.add("empty", "", line)
                continue
            if one.kind == "pair" and one.messages == one.other:
                found.add("same", "", line)
            digest = _digest(one)
            if digest in seen:
                found.add("duplicate", str(seen[digest]), line)
            else:
                seen[digest] = line
    except PapertrainError:
        return ()
    return found.of(rows)


def shared_rows(
    train: Path, test: Path, columns: Mapping[str, str] | None = None, *, limit: int | None = OVERLAP_BYTES
) -> SharedRows | None:
    """The rows of `test` whose text stands in `train` too; None where there are none, and for what is no data set (or is
    larger than `limit`)."""
    try:
        if limit is not None and max(train.stat().st_size, test.stat().st_size) > limit:
            return None
        held = list(_texts(test, columns))
        wanted = {digest for _, digest in held}
        there: dict[bytes, int] = {}
        for line, digest in _texts(train, columns):
            if digest in wanted:
                there.setdefault(digest, line)
    except (PapertrainError, OSError):
        return None
    both = [(line, there[digest]) for line, digest in held if digest in there]
    if not both:
        return None
    return SharedRows(rows=len(held), both=len(both), line=both[0][0], train_line=both[0][1])


def _texts(path: Path, columns: Mapping[str, str] | None) -> Iterator[tuple[int, bytes]]:
    """(line, digest of what is read in it) of each row that is an example; of whole rows where no format is recognised."""
    from itertools import chain, islice

    from papertrain.data.columns import layout_for
    from papertrain.data.examples import RowError, example
    from papertrain.data.reading import BadLine, open_rows

    stream = iter(open_rows(path).rows)
    head = list(islice(stream, 200))
    layout = layout_for([r for _, r in head if not isinstance(r, BadLine)], None, columns, path)
    for line, row in chain(head, stream):
        if isinstance(row, BadLine):
            continue
        if layout is None:
            yield line, _digested(sorted(row.items(), key=lambda item: str(item[0])))
            continue
        try:
            one = example(row, layout)
        except RowError:
            continue
        if not one.empty:
            yield line, _digested([_stripped(one.messages), _stripped(one.other), one.text.strip()])


def _stripped(messages: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    return [(str(m["role"]), str(m["content"]).strip()) for m in messages]


class _Found:
    """Faults by kind and by what they say, numbers left out, with the first line of each."""

    def __init__(self) -> None:
        self.table: dict[tuple[str, str], list[object]] = {}

    def add(self, kind: str, says: str, line: int) -> None:
        alike = "" if kind in ("duplicate", "damaged") else re.sub(r"\d+", "#", says)
        key = (kind, alike)
        if key not in self.table and len(self.table) >= KINDS:
            key = next((k for k in self.table if k[0] == kind), next(iter(self.table)))
        entry = self.table.setdefault(key, [0, line, says])
        entry[0] = int(str(entry[0])) + 1

    def of(self, rows: int) -> tuple[RowFault, ...]:
        return tuple(
            RowFault(kind=kind, says=str(says), line=int(str(line)), count=int(str(count)), rows=rows)
            for (kind, _), (count, line, says) in self.table.items()
        )


def _task(document: ConfigDocument | None) -> str | None:
    stage = str(document.settings.get("stage")) if document is not None else ""
    return stage if stage in ("pt", "sft", "dpo", "kto") else None


def _digest(one: Example) -> bytes:
    return _digested((one.messages, one.other, one.text, one.label))


def _digested(value: object) -> bytes:
    return hashlib.blake2b(repr(value).encode("utf-8", "surrogatepass"), digest_size=12).digest()
