"""What takes long is made once: whoever asks meanwhile waits for the same answer, and it holds while its files do."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from pathlib import Path

MOST = 200
State = tuple[tuple[str, int, int], ...]


class Kept:
    """Texts by key, each with the state of the files that it was made from."""

    def __init__(self) -> None:
        self._texts: dict[tuple[str, ...], tuple[State, str]] = {}
        self._locks: dict[tuple[str, ...], threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, key: tuple[str, ...], files: Iterable[Path], make: Callable[[], str]) -> str:
        with self._lock:
            if len(self._locks) > MOST:
                self._texts.clear()
                self._locks.clear()
            mine = self._locks.setdefault(key, threading.Lock())
        with mine:
            state = state_of(files)
            held = self._texts.get(key)
            if held is None or held[0] != state:
                held = self._texts[key] = (state, make())
            return held[1]


def state_of(files: Iterable[Path]) -> State:
    """Names, times and sizes: what changes when a file does."""
    found = []
    for path in files:
        try:
            s = path.stat()
        except OSError:
            continue
        found.append((str(path), s.st_mtime_ns, s.st_size))
    return tuple(sorted(found))
