"""Following runs: poll, judge, tell once per event."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from math import isfinite
from pathlib import Path

from papertrain.core.training import TrainingPlan
from papertrain.monitor.history import History
from papertrain.monitor.run import Examination, Watched, judge, watched
from papertrain.monitor.verdict import ORDER, State

AGAIN_AFTER = 6
"""Looks without the event before the same event may be told again."""
TIME_FOR_COMMAND = 30.0


class Alarms:
    """One alarm per event: run, signal and level. A level that comes and goes is told again only after a pause."""

    def __init__(self, least: State = "warning") -> None:
        self.least = least
        self.open: dict[tuple[str, str, State], int] = {}

    def new(self, found: Sequence[Examination]) -> list[tuple[Examination, str]]:
        """(run, line to tell) for each event that has not been told."""
        told = []
        present = set()
        for e in found:
            for s in e.signals:
                if ORDER.index(s.level) < ORDER.index(self.least):
                    continue
                key = (e.name, s.name, s.level)
                present.add(key)
                if key not in self.open:
                    told.append((e, f"{e.name}: {s.name} {s.level}: {s.says}"))
                self.open[key] = 0
        for key in list(self.open):
            if key not in present:
                self.open[key] += 1
                if self.open[key] > AGAIN_AFTER:
                    del self.open[key]
        return told


class Follower:
    """Several runs in one process. New runs below the paths are found now and then."""

    def __init__(self, paths: Sequence[Path], plan_of: Callable[[Path], TrainingPlan | None]) -> None:
        self.paths = list(paths)
        self.plan_of = plan_of
        self.runs: list[tuple[Path, Watched]] = [(p, w) for p in paths for w in watched(p)]
        self.cache: dict[int, Examination] = {}
        self.judged: dict[int, tuple[int, float]] = {}

    def look(self, final: bool = False) -> list[Examination]:
        """Read what is new and judge the runs that grew."""
        found = []
        for i, (path, w) in enumerate(self.runs):
            w.poll(final)
            if final or self.due(i, w):
                self.cache[i] = judge(History(w.name, w.tables, self.plan_of(path), now=time.time()))
                self.judged[i] = (sum(t.rows for t in w.tables), time.monotonic())
            found.append(self.cache[i])
        return found

    def due(self, i: int, w: Watched) -> bool:
        """Rules run again when a run has grown by 2 %, when something not finite has come in, or after half a minute."""
        if i not in self.cache:
            return True
        rows, when = self.judged[i]
        now = sum(t.rows for t in w.tables)
        if now > 1.02 * rows or time.monotonic() - when > 30:
            return True
        return now > rows and any(
            not isfinite(c.values[-1]) for t in w.tables for c in list(t.columns.values())[:64] if len(c)
        )

    def histories(self) -> Iterator[History]:
        for path, w in self.runs:
            yield History(w.name, w.tables, self.plan_of(path))


def tell(target: str, lines: Sequence[str]) -> str:
    """Hand an alarm to a command (text on standard input, also in PAPERTRAIN_ALARM) or post it to a web hook.
    Returns what went wrong, or nothing; the address of a hook is a secret and is not repeated."""
    text = "\n".join(lines)
    try:
        if target.startswith(("https://", "http://")):
            body = json.dumps({"text": text, "content": text}).encode()
            request = urllib.request.Request(target, data=body, headers={"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=TIME_FOR_COMMAND) as answer:
                answer.read(1024)
        else:
            subprocess.run(shlex.split(target), input=text, text=True, timeout=TIME_FOR_COMMAND, check=False, capture_output=True,
                           env={**os.environ, "PAPERTRAIN_ALARM": text})  # fmt: skip
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return f"the alarm could not be delivered: {type(error).__name__}"
    return ""
