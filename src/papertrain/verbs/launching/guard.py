"""The monitor beside a run that is watched over: it ends what is worth no more of its time."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from papertrain.core.errors import PapertrainError
from papertrain.core.files import size_of
from papertrain.run.process import end_group
from papertrain.verbs.launching import starting

if TYPE_CHECKING:
    from papertrain.monitor.live import Follower
    from papertrain.monitor.verdict import SignalState

LOOK_SECONDS = 3.0
CURVES = frozenset({"train_loss", "eval_loss", "grad_norm"})


class Watch:
    """The monitor beside the run. It ends a run whose loss is not finite any more, or that hangs: nothing that comes
    after is worth its time. Killed, not asked: a checkpoint of such weights would push a good one out."""

    def __init__(self, place: Path) -> None:
        from papertrain.monitor.live import Follower

        self.place = place
        self.kill: Callable[[], None] = self._kill
        self.step = 0
        self.stopped: SignalState | None = None
        self.seen_at_step = 0
        self.follower: Follower | None = None
        self.make: Callable[[], Follower] = lambda: Follower([place], lambda path: None)
        self.next_look = time.monotonic() + LOOK_SECONDS
        self.sizes = {p: size_of(p) for p in place.glob("*.jsonl")} if place.is_dir() else {}

    def beside(self, advance: Callable[[int, int], None]) -> Callable[[int, int], None]:
        def tick(step: int, total: int) -> None:
            self.step = max(self.step, step)
            advance(step, total)
            self.look()

        return tick

    def look(self) -> None:
        if self.stopped is not None or time.monotonic() < self.next_look:
            return
        began = time.monotonic()
        bad = self.bad()
        self.next_look = time.monotonic() + max(LOOK_SECONDS, 20 * (time.monotonic() - began))
        if bad is not None:
            self.stopped, self.seen_at_step = bad, self.step
            self.kill()

    def bad(self, final: bool = False) -> SignalState | None:
        """The first signal that makes going on pointless; at the end of a run every critical word on its curves."""
        try:
            self.follower = self.follower or self.make()
            found = self.follower.look()
        except (PapertrainError, OSError):
            self.follower = None
            return None
        for e in found:
            self.step = max(self.step, e.last_step)
            for s in e.signals:
                if s.level == "critical" and ((hopeless(s) and not e.ended) or (final and s.name in CURVES)):
                    return s
        return None

    def _kill(self) -> None:
        pid = starting.read_record(self.place).get("pid")
        if isinstance(pid, int):
            end_group(pid, signal.SIGKILL)


def hopeless(s: SignalState) -> bool:
    not_finite = s.rule == "TR103" and s.name == "train_loss"
    return not_finite or (s.name == "heartbeat" and s.rule == "TR124")
