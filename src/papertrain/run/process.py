"""One subprocess in a process group of its own: output kept, signals passed on, exit code kept."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from papertrain.core.errors import PapertrainError
from papertrain.core.values import Value
from papertrain.core.writing import open_log


class Ended(Value, frozen=True, kw_only=True):
    """exit_code: as a shell would say it, 128 + n for a process that signal n ended. stopped_by: the signal that we passed on."""

    exit_code: int
    stopped_by: str = ""


def run(
    words: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    log: Path,
    started: Callable[[int], None] = lambda pid: None,
    tick: Callable[[], None] = lambda: None,
    every_seconds: float = 0.5,
) -> Ended:
    """Start and wait. started gets the process id, tick is called now and then. Raises PapertrainError where it cannot start."""
    with open_log(log) as output:
        try:
            process = subprocess.Popen(list(words), cwd=folder, env=dict(environment), stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)  # fmt: skip
        except OSError as error:
            raise PapertrainError(
                f"cannot start {words[0]}: {(error.strerror or str(error)).lower()}", code="cannot-start"
            ) from None
        passed: list[int] = []
        with terminal_may_close(), _passed_on(process, passed):
            started(process.pid)
            while True:
                try:
                    code = process.wait(timeout=every_seconds)
                    break
                except subprocess.TimeoutExpired:
                    tick()
        tick()
    name = signal.Signals(passed[0]).name if passed else ""
    return Ended(exit_code=code if code >= 0 else 128 - code, stopped_by=name)


@contextmanager
def terminal_may_close() -> Iterator[None]:
    """A terminal that closes (SIGHUP) ends nothing: as under nohup the run goes on, and its record is kept."""
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGHUP) is not signal.SIG_DFL
    ):
        yield
        return
    # A function and not SIG_IGN, which every program that is started would inherit.
    old = signal.signal(signal.SIGHUP, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, old)


@contextmanager
def _passed_on(process: subprocess.Popen[bytes], passed: list[int]) -> Iterator[None]:
    """SIGINT and SIGTERM go to the whole group; asked a third time, it is killed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def hand_on(number: int, frame: FrameType | None) -> None:
        passed.append(number)
        end_group(process.pid, signal.SIGKILL if len(passed) > 2 else number)

    old = {number: signal.signal(number, hand_on) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def end_group(pid: int, number: int) -> None:
    """A signal to a process group that we started; one that is gone already is no error."""
    try:
        os.killpg(pid, number)
    except ProcessLookupError:
        return
