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


def quick(seconds: float, limit: float) -> bool:
    """Whether that much processor time is below the limit of an idle core of 2024, or of this one as it is now: neighbours of a
    virtual machine make it slower too."""
    if seconds < limit:
        return True
    yardstick = min(timeit.repeat(lambda: sum(i * i for i in range(1_000_000)), number=1, repeat=5))
    return seconds < limit * max(1.0, yardstick / 0.04)


def grows_with_length_only(act: Callable[[str], object], piece: str, length: int = 15_000) -> bool:
    """Whether four times the text takes about four times the processor time; it would be sixteen times if each piece looked at
    all that follows."""

    def seconds(n: int) -> float:
        text = "key " + piece * (n // len(piece))
        began = time.process_time()
        act(text)
        return time.process_time() - began

    short, long = min(seconds(length) for _ in range(3)), min(seconds(4 * length) for _ in range(2))
    return long < 9 * max(short, 0.01)
