"""The rows of a data file that a loader would refuse, or that teach nothing: each kind with its first line."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

from papertrain.configs.checking.rows import RowFault
from papertrain.core.errors import PapertrainError

if TYPE_CHECKING:
    from papertrain.configs.checking.document import ConfigDocument
    from papertrain.data.examples import Example

MOST = 200_000
KINDS = 12


def row_faults(path: Path, document: ConfigDocument | None) -> tuple[RowFault, ...]:
    """What is wrong with rows of the file, worst first; nothing for what is no data set."""
    from itertools import chain, islice

    from papertrain.data.examples import RowError, example
    from papertrain.data.formats import recognise
    from papertrain.data.reading import BadLine, open_rows

    task = _task(document)
    try:
        stream = iter(open_rows(path).rows)
        head = list(islice(stream, 200))
        layout = recognise((r for _, r in head if not isinstance(r, BadLine)), task)
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
                order = str(error).startswith("roles out of order") or "without an answer" in str(error)
                left_out = layout.format.startswith(
                    "classification"
                )  # by plan and script; no framework reads such data
                found.add("order" if order else "left out" if left_out else "unfit", str(error), line)
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
    whole = repr((one.messages, one.other, one.text, one.label))
    return hashlib.blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=12).digest()
