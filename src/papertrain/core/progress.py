"""Progress of long work on standard error: a bar on a terminal, gone when done; elsewhere a plain line now and then."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

from papertrain.core.texts import say

PLAIN_SECONDS = 20.0

quiet: ContextVar[bool] = ContextVar("quiet", default=False)


def tell(text: str) -> None:
    """Write it to standard error now. Where that is full or gone nothing is said: the work, and its exit code, go on."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        nowhere(sys.stderr)


def nowhere(stream: Any) -> None:
    """What is still in its buffer is given up, so that Python does not complain at its end and change the exit code."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def bar(label: str, *, width: int = 28, every_seconds: float = 0.1) -> Iterator[Callable[[int, int], None]]:
    """Gives `advance(done, total)`. Silent with --quiet; in a pipe or log the first line comes after `PLAIN_SECONDS`."""
    if quiet.get():
        yield lambda done, total: None
        return
    start, last = time.monotonic(), 0.0
    if not sys.stderr.isatty():
        last = start

        def now_and_then(done: int, total: int) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last >= PLAIN_SECONDS and 0 < done < total:
                last = now
                left = (now - start) * (total - done) / done
                rest = say("about {left:.0f} s left", left=left)
                sentence = say(
                    "{label}: {done:,} of {total:,}, {percent:.0f} %, {rest}",
                    label=label,
                    done=done,
                    total=total,
                    percent=100 * done / total,
                    rest=rest,
                )
                tell(f"{sentence}\n")

        yield now_and_then
        return

    def advance(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < every_seconds and done < total:
            return
        last = now
        share = min(1.0, done / total) if total > 0 else 0.0
        left = (now - start) * (1 - share) / share if share > 0.01 else None
        rest = "" if left is None else " " + say("about {left:.0f} s left", left=left)
        filled = int(share * width)
        tell(f"\r{label} {'█' * filled}{'·' * (width - filled)} {100 * share:3.0f} %{rest}\x1b[K")

    try:
        yield advance
    finally:
        tell("\r\x1b[K")
