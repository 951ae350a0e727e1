"""What a reader fills: one column per name, every value with the step, line, epoch and time of its row."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from math import nan

from papertrain.core.findings import Skipped

NO_STEP = -1
LARGEST_STEP = 1 << 53
MAX_COLUMNS = 4096
MAX_POINTS = 1 << 18
"""Points kept per column. Beyond it two neighbours become their mean, so that memory stays constant on any file."""
MAX_POINTS_WIDE = 1 << 13
"""The same for files of more than 64 columns (1,537 metrics in one row have been seen)."""
KEPT_SKIPS = 20


class Column:
    """One name's values in the order of the file; non-finite values stay in place."""

    __slots__ = ("epochs", "lines", "merged", "pending", "steps", "times", "values")

    def __init__(self) -> None:
        self.steps = array("q")
        self.values = array("d")
        self.lines = array("q")
        self.epochs = array("d")
        self.times = array("d")
        self.merged = 1
        self.pending: list[tuple[int, float, int, float, float]] = []

    def __len__(self) -> int:
        return len(self.values)

    def add(self, step: int, value: float, line: int, epoch: float = nan, time: float = nan) -> None:
        if self.merged > 1:
            self.pending.append((step, value, line, epoch, time))
            if len(self.pending) < self.merged:
                return
            rows, self.pending = self.pending, []
            step, _, line, epoch, time = rows[-1]
            value = sum(r[1] for r in rows) / len(rows)
        self.steps.append(step)
        self.values.append(value)
        self.lines.append(line)
        self.epochs.append(epoch)
        self.times.append(time)

    def compact(self) -> None:
        """Two neighbours become one: their mean (NaN if either is), the later step and line."""
        v = self.values
        even = len(v) // 2 * 2
        self.values = array("d", ((v[i] + v[i + 1]) / 2 for i in range(0, even, 2)))
        self.steps = self.steps[1:even:2]
        self.lines = self.lines[1:even:2]
        self.epochs = self.epochs[1:even:2]
        self.times = self.times[1:even:2]
        self.merged *= 2

    def flush(self) -> None:
        """The last, unfinished group of merged points counts too."""
        rows, self.pending, merged, self.merged = self.pending, [], self.merged, 1
        for r in rows[-1:]:
            self.add(r[0], sum(x[1] for x in rows) / len(rows), *r[2:])
        self.merged = merged


class Table:
    """All that was read from one file (or folder of one store)."""

    def __init__(self, file: str, reader: str, most: int = MAX_POINTS) -> None:
        self.file = file
        self.reader = reader
        self.most = most
        self.least = min(most, MAX_POINTS_WIDE)
        self.clear()

    def clear(self) -> None:
        """The file was rewritten: begin again."""
        self.columns: dict[str, Column] = {}
        self.facts: dict[str, object] = {}
        self.skipped: list[Skipped] = []
        self.skipped_lines = 0
        self.rows = 0
        self.lines = 0
        self.ended = False
        self.last_epoch = nan
        self.overflows: list[tuple[int, int, float]] = []
        self.configs: dict[str, object] = {}

    def another_run(self) -> None:
        """The program began anew in the same file: what it wrote before is another run's, and the last one counts."""
        self.columns, self.overflows, self.ended = {}, [], False
        self.facts = {"runs_before": 1.0 + self.before()}

    def before(self) -> float:
        """How many runs were over before this one, in the same file."""
        n = self.facts.get("runs_before")
        return n if isinstance(n, float) else 0.0

    def skip(self, line: int, why: str) -> None:
        self.skipped_lines += 1
        if len(self.skipped) < KEPT_SKIPS:
            self.skipped.append(Skipped(file=self.file, line=line, why=why))

    def row(
        self,
        values: Iterable[tuple[str, float]],
        *,
        line: int,
        step: int = NO_STEP,
        epoch: float = nan,
        time: float = nan,
    ) -> None:
        """One record of the file."""
        self.rows += 1
        columns = self.columns
        if not 0 <= step < LARGEST_STEP:
            step = NO_STEP
        if not -1e9 < epoch < 1e9:
            epoch = nan
        if not -1e12 < time < 1e12:
            time = nan
        for name, value in values:
            column = columns.get(name)
            if column is None:
                if len(columns) >= MAX_COLUMNS:
                    continue
                column = columns[name] = Column()
            column.add(step, value, line, epoch, time)
            if len(column.values) >= self.least and len(column.values) >= self.limit():
                column.compact()

    def limit(self) -> int:
        return self.most if len(self.columns) <= 64 else self.least

    def finish(self) -> None:
        for column in self.columns.values():
            column.flush()
