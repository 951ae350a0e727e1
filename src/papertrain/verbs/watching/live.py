"""The live view of `watch`: redrawn on a terminal, one line per change in a pipe."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from papertrain.core.redact import redact
from papertrain.core.sentences import translated
from papertrain.core.texts import say
from papertrain.core.units import show_seconds
from papertrain.core.wide import folded, padded, width

if TYPE_CHECKING:
    from papertrain.core.training import TrainingPlan
    from papertrain.monitor.history import History
    from papertrain.monitor.run import Examination

COLOURS = {"critical": "\x1b[1;31m", "warning": "\x1b[33m", "normal": "\x1b[32m"}


def follow(
    targets: list[Path],
    plan_of: Callable[[Path], TrainingPlan | None],
    *,
    live: bool,
    until: str | None,
    notify: str | None,
    interval: float,
) -> tuple[list[Examination], list[History]]:
    """Until every run has ended, the level is reached, or Ctrl-C."""
    from papertrain.monitor.live import Alarms, Follower, Messenger
    from papertrain.monitor.verdict import ORDER

    follower = Follower(targets, plan_of)
    alarms = Alarms("warning" if until != "critical" else "critical")
    screen = Screen(live)
    messenger = Messenger(notify) if notify else None
    pace = Pace()
    try:
        while True:
            found = follower.look()
            news = alarms.new(found)
            if messenger is not None and news:
                messenger.send([redact(line) for _, line in news])
            problems = messenger.said() if messenger is not None else []
            if live:
                screen.draw(found, list(follower.histories()), [line for _, line in news], pace.of(found), problems)
            else:
                for problem in problems:
                    screen.say(problem)
            if until and any(ORDER.index(e.level) >= ORDER.index(until) for e in found):
                break
            if all(e.ended for e in found):
                break
            time.sleep(interval)
    except KeyboardInterrupt:
        pass
    finally:
        screen.close()
        for problem in messenger.close() if messenger is not None else []:
            screen.say(problem)
    return follower.look(final=True), list(follower.histories())


def cut(text: str, columns: int) -> str:
    """As much of a line as a terminal has columns for."""
    while width(text) > columns:
        text = text[: -max(1, (width(text) - columns) // 2)]
    return text


class Pace:
    """Seconds per step of a single run, as seen since the view was opened or the run began anew."""

    def __init__(self) -> None:
        self.began: tuple[float, int] | None = None
        self.last = 0

    def of(self, found: list[Examination]) -> float | None:
        if len(found) != 1:
            return None
        now, step = time.monotonic(), found[0].last_step
        if self.began is None or step < self.last:
            self.began = now, step
        self.last = step
        steps = step - self.began[1]
        return (now - self.began[0]) / steps if steps > 0 else None


class Screen:
    """Standard output, redacted. A terminal is redrawn in place; a pipe gets a line when something has changed."""

    def __init__(self, live: bool) -> None:
        self.terminal = live and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        self.colour = self.terminal and not os.environ.get("NO_COLOR")
        self.last: list[str] = []
        self.problem = ""
        if self.terminal:
            sys.stdout.write("\x1b[?25l\x1b[2J")

    def draw(
        self,
        found: list[Examination],
        histories: list[History],
        news: list[str],
        seconds_per_step: float | None,
        problems: list[str],
    ) -> None:
        if not self.terminal:
            self.pipe(found, [*news, *problems])
            return
        columns, rows = shutil.get_terminal_size((80, 24))
        self.problem = problems[-1] if problems else self.problem
        lines = self.view(found, histories, seconds_per_step, columns, rows)
        if self.problem:
            lines = [*lines[: rows - 2], self.problem]
        shown = [self.paint(cut(redact(line, terminal=True), columns)) for line in lines[: rows - 1]]
        sys.stdout.write("\x1b[H" + "".join(f"{line}\x1b[K\r\n" for line in shown) + "\x1b[J")
        sys.stdout.flush()

    def view(
        self,
        found: list[Examination],
        histories: list[History],
        seconds_per_step: float | None,
        columns: int,
        rows: int,
    ) -> list[str]:
        from papertrain.monitor.verdict import ORDER
        from papertrain.report.curves import plot, spark
        from papertrain.verbs.watching.text import headline, signal_lines

        clock = time.strftime("%H:%M:%S")
        worst = max(range(len(found)), key=lambda i: ORDER.index(found[i].level))
        e, run = found[worst], histories[worst]
        lines = [
            say("papertrain watch  {clock}  Ctrl-C ends the view, not the run", clock=clock),
            *folded(headline(e), columns)[:3],
        ]
        if len(found) > 1:
            for other, h in list(zip(found, histories))[: max(3, rows // 3)]:
                values = h.raw_loss.values[-200:] if h.raw_loss is not None else []
                level = padded(translated(other.level), 8)
                lines.append(f"  {level} {padded(cut(other.name, 30), 30)} {spark(values, width=24)}")
        if seconds_per_step and e.total_steps and e.total_steps > e.last_step:
            left = (e.total_steps - e.last_step) * seconds_per_step
            lines.append("  " + say("{pace:.2f} s a step, {left} left", pace=seconds_per_step, left=show_seconds(left)))
        lines += ["", *signal_lines(e, columns, commands=False), ""]
        c = run.raw_loss
        if c is not None and len(c) >= 2 and rows - len(lines) > 5:
            lines += plot(
                c.steps,
                c.values,
                width=columns - 2,
                height=max(3, min(10, rows - len(lines) - 4)),
                title=say("{name} by {unit}", name=c.raw, unit=c.word),
            )
        return lines

    def paint(self, line: str) -> str:
        if self.colour:
            for level, code in COLOURS.items():
                word = translated(level)
                if f" {word} " in line or line.startswith(word):
                    return f"{code}{line}\x1b[0m"
        return line

    def pipe(self, found: list[Examination], news: list[str]) -> None:
        from papertrain.verbs.watching.text import headline

        lines = [headline(e) for e in found]
        for line in [x for x in lines if x not in self.last] + news:
            self.say(line)
        self.last = lines

    def say(self, line: str) -> None:
        sys.stdout.write(redact(line, terminal=sys.stdout.isatty()) + "\n")
        sys.stdout.flush()

    def close(self) -> None:
        if self.terminal:
            sys.stdout.write("\x1b[?25h\r\n")
            sys.stdout.flush()
