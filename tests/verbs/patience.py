"""Waiting in tests: for the event, never for the clock; and processor time, held against the machine as it is now."""

from __future__ import annotations

import time
import timeit
from collections.abc import Callable

LIMIT = 900.0
"""Seconds, only there so that a broken test ends: a machine whose two cores do ten things at once is slow by a factor of ten and more."""


def until(what: Callable[[], object], *, going: Callable[[], bool] = lambda: True, every: float = 0.05, told: Callable[[], str] = str) -> None:  # fmt: skip
    """Return once `what` is true. Fails at once where what is waited for is not `going` any more. told: what to say then."""
    end = time.monotonic() + LIMIT
    while not what():
        assert going() or what(), f"it ended before it happened: {told()}"
        assert time.monotonic() < end, f"it never happened: {told()}"
        time.sleep(every)


def slowness() -> float:
    """How much slower than an idle core of 2024 this one is now (1 or more): neighbours of a virtual machine count as well."""
    return max(1.0, min(timeit.repeat(lambda: sum(i * i for i in range(1_000_000)), number=1, repeat=5)) / 0.04)
