"""One signal of one run, cleaned: segments after a resume joined, several writers merged, the last value of a step kept."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite, isnan, nan

from papertrain.core.findings import Signal
from papertrain.monitor.places import Unit, among, shown, word
from papertrain.monitor.table import Column

COUNTERS = frozenset(("gpu_utilization", "telemetry"))
"""Samples of counters stand at a time, not at a step."""


class Curve:
    """Values in order of step. `resumed` are the steps at which the run went on from an earlier step. `unit` is what `steps`
    count; `ordinal` where the log names no step and they were counted."""

    __slots__ = (
        "epochs",
        "file",
        "lines",
        "name",
        "raw",
        "resumed",
        "runs",
        "steps",
        "times",
        "unit",
        "values",
        "writers",
    )

    def __init__(self, name: str, raw: str, file: str) -> None:
        self.name, self.raw, self.file = name, raw, file
        self.steps: list[int] = []
        self.values: list[float] = []
        self.lines: list[int] = []
        self.epochs: list[float] = []
        self.times: list[float] = []
        self.resumed: list[int] = []
        self.runs = 1
        self.writers = 1
        self.unit: Unit = "step"

    @property
    def ordinal(self) -> bool:
        return self.unit != "step"

    @property
    def word(self) -> str:
        """What `steps` count, in the user's language."""
        return word(self.unit)

    def place(self, i: int) -> str:
        """`step 1,200`, or `row 40` where it was counted."""
        return shown(self.unit, self.steps[i])

    def __len__(self) -> int:
        return len(self.values)

    def finite(self) -> Curve:
        """The same without its non-finite points."""
        keep = [i for i, v in enumerate(self.values) if isfinite(v)]
        return self if len(keep) == len(self.values) else self.take(keep)

    def take(self, index: list[int]) -> Curve:
        c = Curve(self.name, self.raw, self.file)
        c.resumed, c.runs, c.writers, c.unit = self.resumed, self.runs, self.writers, self.unit
        for part in ("steps", "values", "lines", "epochs", "times"):
            old = getattr(self, part)
            setattr(c, part, [old[i] for i in index])
        return c

    def tail(self, start: int) -> Curve:
        return self.take(list(range(max(0, start), len(self.values))))

    def at(self, i: int) -> Signal:
        """Point i as evidence."""
        epoch = self.epochs[i]
        step = None if self.ordinal and self.name in COUNTERS else self.steps[i]
        return Signal(name=self.raw, value=self.values[i], step=step, unit=self.unit, file=self.file, line=self.lines[i],
                      epoch=None if isnan(epoch) else epoch)  # fmt: skip

    def odd(self) -> Iterator[int]:
        """Where the value is not finite."""
        return (i for i, v in enumerate(self.values) if not isfinite(v))

    def back_in_time(self) -> list[int]:
        """Points that are dated before the one before them by more than a second, a resume not counted."""
        again = set(self.resumed)
        return [i for i in range(1, len(self)) if self.times[i] < self.times[i - 1] - 1 and self.steps[i] not in again]

    def epochs_between(self, i: int, j: int) -> float:
        """Epochs from point i to j; NaN where epochs are unknown."""
        return self.epochs[j] - self.epochs[i] if self.values else nan


def curve(name: str, raw: str, file: str, column: Column, dense: Column | None = None) -> Curve:
    """A cleaned curve from a column as it was read. `dense` is the signal of the file whose rows count those that name no step."""
    c = Curve(name, raw, file)
    steps, c.unit = among(column, None if name in COUNTERS else dense)
    order, c.resumed, c.runs, c.writers = arrange(steps)
    c.steps = [steps[i] for i in order]
    c.values = [column.values[i] for i in order]
    c.lines = [column.lines[i] for i in order]
    c.epochs = [column.epochs[i] for i in order]
    c.times = [t if -1e12 < (t := column.times[i]) < 1e12 else nan for i in order]
    return c


def arrange(steps: list[int]) -> tuple[list[int], list[int], int, int]:
    """Order of the points to keep, the resume steps, how many runs the file holds, and how many writers.

    Many small steps back: two processes write one file. A step back to (nearly) the beginning: another run, and the
    last one counts. Any other step back: a resume, and what came after that step before is superseded.
    """
    n = len(steps)
    backs = [i for i in range(1, n) if steps[i] < steps[i - 1]]
    if not backs:
        last = {s: i for i, s in enumerate(steps)}
        return (list(range(n)) if len(last) == n else list(last.values())), [], 1, 1
    if len(backs) > max(6, n // 50):
        last = {}
        for i, s in enumerate(steps):
            last[s] = i
        return [last[s] for s in sorted(last)], [], 1, 2
    runs = 1
    resumed: list[int] = []
    kept: list[int] = []
    for i, s in enumerate(steps):
        if kept and s < steps[kept[-1]]:
            first, top = steps[kept[0]], steps[kept[-1]]
            follows = n - i
            if s <= first + 0.02 * (top - first) and len(kept) >= 8 and follows >= 8:
                runs, kept, resumed = runs + 1, [], []
            else:
                while kept and steps[kept[-1]] >= s:
                    kept.pop()
                resumed.append(s)
        elif kept and s == steps[kept[-1]]:
            kept.pop()
        kept.append(i)
    return kept, resumed, runs, 1
