"""Following runs: poll, judge, tell once per event."""

from __future__ import annotations

import json
import os
import queue
import shlex
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from math import isfinite
from pathlib import Path

from msgspec import structs

from papertrain.core.texts import say
from papertrain.core.training import TrainingPlan
from papertrain.core.units import show_seconds
from papertrain.monitor.history import History
from papertrain.monitor.nvml import Cards, cards_of
from papertrain.monitor.run import Examination, Watched, judge, watched
from papertrain.monitor.verdict import ORDER, SignalState, State, worst

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
        self.cards: dict[int, Cards] = {i: c for i, (p, w) in enumerate(self.runs) if (c := cards_of(p, w)) is not None}
        self.cache: dict[int, Examination] = {}
        self.judged: dict[int, tuple[int, float]] = {}
        self.starts: dict[int, int] = {}
        self.grown: dict[int, tuple[float, float, int]] = {}

    def look(self, final: bool = False) -> list[Examination]:
        """Read what is new and judge the runs that grew."""
        found = []
        for i, (_, w) in enumerate(self.runs):
            w.poll(final)
            if i in self.cards:
                self.cards[i].sample()
            if final or self.due(i, w):
                self.cache[i] = judge(self.history(i))
                self.judged[i] = (sum(t.rows for t in w.tables), time.monotonic())
            found.append(self.cache[i] if self.cache[i].ended else silence(self.cache[i], *self.quiet_for(i, w)))
        return found

    def quiet_for(self, i: int, w: Watched) -> tuple[float, float]:
        """Seconds since a row came in, and the usual seconds between two, as seen from here."""
        now, rows = time.monotonic(), sum(t.rows for t in w.tables)
        first, last, before = self.grown.get(i, (now, now, rows))
        if rows > before:
            last = now
        self.grown[i] = (first, last, max(rows, before))
        start = self.starts.setdefault(i, rows)
        return now - last, (last - first) / max(1, rows - start)

    def due(self, i: int, w: Watched) -> bool:
        """Rules run again when a run has grown by 2 %, when something not finite has come in, or after half a minute."""
        if i not in self.cache:
            return True
        rows, when = self.judged[i]
        now = sum(t.rows for t in w.tables)
        if now < rows:
            return True  # the log begins anew: another run, or the old file was moved away
        if now > 1.02 * rows or time.monotonic() - when > 30:
            return True
        return now > rows and any(
            not isfinite(c.values[-1]) for t in w.tables for c in list(t.columns.values())[:64] if len(c)
        )

    def history(self, i: int) -> History:
        path, w = self.runs[i]
        tables = [*w.tables, self.cards[i].table] if i in self.cards else w.tables
        return History(w.name, tables, self.plan_of(path), now=time.time())

    def histories(self) -> Iterator[History]:
        for i in range(len(self.runs)):
            yield self.history(i)


def silence(e: Examination, quiet: float, usual: float) -> Examination:
    """A heartbeat for logs that carry no times: no row for ten times the usual interval and two minutes, or thirty times
    and half an hour."""
    limit = max(10 * usual, 120)
    if quiet < limit or any(s.name == "heartbeat" and s.level in ("warning", "critical") for s in e.signals):
        return e
    level: State = "critical" if quiet > max(30 * usual, 1800) else "warning"
    says = say("no new row for {quiet}", quiet=show_seconds(quiet))
    row = SignalState(
        name="heartbeat",
        level=level,
        says=says,
        since_step=e.last_step,
        unit=e.unit,
        rule="TR124",
        cls="hang-out-of-sync-large-scale",
    )
    signals = tuple(row if s.name == "heartbeat" else s for s in e.signals)
    return structs.replace(e, signals=signals, level=worst([s.level for s in signals if s.level != "unknown"]))


class Messenger:
    """Hands alarms over in the background, one after the other, so that a command that hangs does not stop the watch."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.waiting: queue.Queue[list[str]] = queue.Queue()
        self.problems: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._deliver, daemon=True).start()

    def _deliver(self) -> None:
        while True:
            lines = self.waiting.get()
            problem = tell(self.target, lines)
            if problem:
                self.problems.put(problem)
            self.waiting.task_done()

    def send(self, lines: list[str]) -> None:
        self.waiting.put(lines)

    def said(self) -> list[str]:
        """What went wrong since it was asked for last."""
        found = []
        while not self.problems.empty():
            found.append(self.problems.get())
        return found

    def close(self) -> list[str]:
        """Waits for what is under way, as long as one delivery may take."""
        end = time.monotonic() + TIME_FOR_COMMAND + 1
        while self.waiting.unfinished_tasks and time.monotonic() < end:
            time.sleep(0.05)
        late = say("an alarm was not taken within {limit}", limit=show_seconds(TIME_FOR_COMMAND))
        return [*self.said(), *([late] if self.waiting.unfinished_tasks else [])]


def tell(target: str, lines: Sequence[str]) -> str:
    """Hand an alarm to a command (text on standard input, also in PAPERTRAIN_ALARM) or post it to a web hook.
    Returns what went wrong, or nothing; the address of a hook is a secret and is not repeated."""
    text = "\n".join(lines)
    try:
        if target.lower().startswith(("https://", "http://")):
            body = json.dumps({"text": text, "content": text}).encode()
            request = urllib.request.Request(target, data=body, headers={"Content-Type": "application/json"})
            with urllib.request.urlopen(request, timeout=TIME_FOR_COMMAND) as answer:
                answer.read(1024)
        else:
            # No pipe to read from: what the command leaves running would hold it open.
            done = subprocess.run(shlex.split(target), input=text, text=True, timeout=TIME_FOR_COMMAND, check=False, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, env={**os.environ, "PAPERTRAIN_ALARM": text})  # fmt: skip
            if done.returncode:
                return say("the alarm could not be delivered: the command ended with {code}", code=done.returncode)
    except (OSError, ValueError, IndexError, subprocess.SubprocessError) as error:
        return say("the alarm could not be delivered: {error}", error=type(error).__name__)
    return ""
