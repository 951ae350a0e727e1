"""Waiting in tests: for the event, never for the clock. The limit is only there so that a broken test ends."""

from __future__ import annotations

import time
from collections.abc import Callable

LIMIT = 900.0
"""Seconds: a machine whose two cores do ten things at once is slow by a factor of ten and more."""


def until(what: Callable[[], object], *, going: Callable[[], bool] = lambda: True, every: float = 0.05, told: Callable[[], str] = str) -> None:  # fmt: skip
    """Return once `what` is true. Fails at once where what is waited for is not `going` any more. told: what to say then."""
    end = time.monotonic() + LIMIT
    while not what():
        assert going() or what(), f"it ended before it happened: {told()}"
        assert time.monotonic() < end, f"it never happened: {told()}"
        time.sleep(every)
