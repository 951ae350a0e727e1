"""The monitor inside a training loop.

    watch = Watch(stop_on="critical")
    for step, batch in enumerate(loader):
        ...
        watch.log(step, loss=loss.item(), grad_norm=float(norm), lr=scheduler.get_last_lr()[0])
        if watch.stop:
            break

`trainer_callback()` is the same for transformers, TRL and LLaMA-Factory. Nothing of torch or transformers is imported
before it is called. Logging a row costs some microseconds. The rules run in the thread that logs: after 4, 8, 16, 32 and 64
rows, at once when a value is not finite, and else every few seconds as long as all looks together stay below a thousandth
of the time.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import cache
from math import isfinite, nan
from typing import Any, Literal

from papertrain.core.errors import PapertrainError
from papertrain.monitor.table import Table

Stop = Literal["never", "warning", "critical"]
RANK = {"unknown": 0, "normal": 0, "warning": 1, "critical": 2}
MOST_OF_TIME = 0.0008
"""The share of the time of training that the rules may take."""
MOST_POINTS = 1 << 13
"""Rows kept; beyond it two become their mean, so that a look stays short. A NaN stays a NaN."""
URGENT = 5
"""Rows that are not finite and are looked at once; after these, twice a second."""
EARLY = 64
"""Rows in which the rules run after every doubling: a run that explodes does so at its start."""


class Alarm(RuntimeError):
    """Raised by `log` when the run is to stop and `raises` was asked for."""


class Watch:
    """Rows in, alarms out, one per event. `stop` becomes true when a signal is as bad as `stop_on`."""

    def __init__(
        self,
        *,
        stop_on: Stop = "never",
        total_steps: int | None = None,
        tell: Callable[[str], None] | None = None,
        raises: bool = False,
        every_seconds: float = 2.0,
    ) -> None:
        if stop_on not in ("never", "warning", "critical"):
            raise PapertrainError(f"stop_on={stop_on!r}: never, warning or critical", code="bad-value")
        self.stop_on, self.raises, self.every_seconds = stop_on, raises, every_seconds
        self.stop = False
        self.level = "unknown"
        self.alarms: list[str] = []
        self.table = Table("training loop", "jsonl", most=MOST_POINTS)
        if total_steps:
            self.table.facts["max_steps"] = float(total_steps)
        self._tell = tell if tell is not None else _to_stderr
        self._seen: set[tuple[str, str]] = set()
        self._next_row = 4
        self._cost = self._last = 0.0
        self._odd = 0
        warm_up()
        self._looked = self._began = time.monotonic()

    def log(self, step: int, **values: float) -> None:
        """One row. A value that is no number is left out. Raises Alarm where that was asked for."""
        pairs = []
        epoch = nan
        odd = False
        for name, value in values.items():
            try:
                number = float(value)
            except (TypeError, ValueError):
                continue
            if name == "epoch":
                epoch = number
                continue
            odd = odd or not isfinite(number)
            pairs.append((name, number))
        table = self.table
        table.row(pairs, line=table.rows + 1, step=int(step), epoch=epoch, time=time.time())
        if odd or table.rows >= self._next_row:
            self._maybe_look(odd)

    def _maybe_look(self, odd: bool) -> None:
        """A look if it is due and, as far as the last one tells, can be afforded."""
        now = time.monotonic()
        early = self.table.rows <= EARLY
        afforded = self._cost + self._last <= MOST_OF_TIME * (now - self._began)
        pause = now - self._looked
        self._odd += odd
        urgent = odd and (self._odd <= URGENT or pause >= 0.5)
        if not early and not afforded and not urgent:
            return
        if not early and not urgent and pause < self.every_seconds:
            return
        self._next_row = self.table.rows * 2 if early else self.table.rows + 1
        self.look()
        self._looked = time.monotonic()
        self._last = self._looked - now
        self._cost += self._last

    def look(self) -> str:
        """Judge what has been logged so far; the level."""
        from papertrain.monitor.history import History
        from papertrain.monitor.run import judge

        found = judge(History("this run", [self.table]))
        self.level = found.level
        for s in found.signals:
            if RANK[s.level] == 0 or (s.name, s.level) in self._seen:
                continue
            self._seen.add((s.name, s.level))
            line = f"papertrain: {s.name} {s.level}: {s.says}"
            self.alarms.append(line)
            self._tell(line)
            if self.stop_on != "never" and RANK[s.level] >= RANK[self.stop_on]:
                self.stop = True
        if self.stop and self.raises:
            raise Alarm(self.alarms[-1])
        return self.level

    def close(self) -> None:
        """A last look."""
        self.look()


@cache
def warm_up() -> None:
    """Rules, their patterns and names are made ready before the first step, not during it: one look at a run of no one."""
    from papertrain.monitor.history import History
    from papertrain.monitor.run import judge

    table = Table("warm-up", "jsonl")
    for i in range(1, 41):
        row = (("loss", 2.0 + i % 3), ("grad_norm", 1.0), ("lr", 1e-4), ("eval_loss", 2.0), ("tokens_per_second", 1.0))
        table.row(row, line=i, step=i, epoch=nan, time=float(i))
    judge(History("warm-up", [table]))


def _to_stderr(line: str) -> None:
    from papertrain.core.redact import redact

    sys.stderr.write(redact(line, terminal=sys.stderr.isatty()) + "\n")


def trainer_callback(*, stop_on: Stop = "never", tell: Callable[[str], None] | None = None) -> Any:
    """A `transformers.TrainerCallback` that watches what the Trainer logs; only rank 0 speaks.

    Raises PapertrainError where transformers is not installed.
    """
    try:
        from transformers import TrainerCallback
    except ImportError:
        raise PapertrainError(
            "the callback needs transformers in this environment",
            code="missing-package",
            ask=["pip install transformers"],
        ) from None

    class PapertrainCallback(TrainerCallback):  # type: ignore[misc]
        """Feeds `Watch` from `on_log`, and ends training when a signal is as bad as asked."""

        def __init__(self) -> None:
            self.watch: Watch | None = None

        def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self.watch = Watch(stop_on=stop_on, total_steps=state.max_steps or None, tell=tell)

        def on_log(
            self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **kwargs: Any
        ) -> None:
            if self.watch is None or not logs or not state.is_world_process_zero or "train_runtime" in logs:
                return
            self.watch.log(state.global_step, **logs)
            if self.watch.stop:
                control.should_training_stop = True

        def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            if self.watch is not None and state.is_world_process_zero:
                self.watch.close()

    return PapertrainCallback()
