"""From paths to the state of each run: find, read, judge."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from papertrain.core.discover import discover
from papertrain.core.errors import PapertrainError
from papertrain.core.findings import Rule
from papertrain.core.training import TrainingPlan
from papertrain.core.values import Record
from papertrain.monitor import rules
from papertrain.monitor.find import EXPECTED, all_readers, one_file, regular, runs_in
from papertrain.monitor.history import TELEMETRY, History
from papertrain.monitor.places import Unit
from papertrain.monitor.reader import Feed, Reader, follow
from papertrain.monitor.states import states
from papertrain.monitor.table import Table
from papertrain.monitor.verdict import SignalState, State, Verdict, worst


class Examination(Record, frozen=True, kw_only=True):
    """The state of one run."""

    name: str
    level: State
    signals: tuple[SignalState, ...]
    verdicts: tuple[Verdict, ...]
    steps: int
    last_step: int
    total_steps: int | None
    format: str
    files: tuple[str, ...]
    skipped_lines: int
    skipped: tuple[str, ...] = ()
    task: str = "train"
    ended: bool = False
    unit: Unit = "step"
    notes: tuple[str, ...] = ()


@lru_cache
def all_rules() -> dict[str, Rule]:
    return discover(rules, "RULE")


class Watched:
    """A run that is followed: its files, and what has been read of them."""

    def __init__(self, name: str, files: Sequence[tuple[Path, Reader]]) -> None:
        self.name = name
        self.feeds: list[Feed] = [follow(p, r) for p, r in files]

    def poll(self, final: bool = True) -> int:
        """Read what is new; a file that vanished meanwhile keeps what it had."""
        new = 0
        for feed in self.feeds:
            try:
                new += feed.poll(final)
            except OSError:
                continue
        return new

    @property
    def tables(self) -> list[Table]:
        return [f.table for f in self.feeds]


def watched(path: Path) -> list[Watched]:
    """The runs at a path. Raises PapertrainError where there is none."""
    regular(path)
    if not path.is_dir():
        return [Watched(path.name, [(path, one_file(path))])]
    return [Watched(name, files) for name, files in runs_in(path)]


def readable(w: Watched, path: Path) -> None:
    """Raises PapertrainError where not a single row could be read of what looked like a log."""
    damaged = sum(t.skipped_lines for t in w.tables)
    if not damaged or any(t.columns for t in w.tables) or damaged < sum(t.rows for t in w.tables):
        return
    first = next(s for t in w.tables for s in t.skipped)
    raise PapertrainError(
        f"{path} looks like {all_readers()[w.tables[0].reader].what}, but none of {damaged} records can be read ({first.why}); {EXPECTED}",
        code="damaged-log", file=path, line=first.line,
    )  # fmt: skip


def judge(run: History) -> Examination:
    """All rules on one run."""
    verdicts: list[Verdict] = []
    broken = []
    for rule in all_rules().values():
        try:
            verdicts += rule.check(run)
        except Exception as error:  # a night's watch must not end with one rule's fault
            broken.append(f"a fault of ours: rule {rule.id} broke off with {type(error).__name__}")
    rows = states(
        run, [v for v in verdicts if v.level != "normal"], {v.signal: v.says for v in verdicts if v.level == "normal"}
    )
    metrics = [t for t in run.tables if t.reader not in TELEMETRY] or list(run.tables)
    loss = run.raw_loss
    points = max((len(c) for t in metrics for c in t.columns.values()), default=0)
    return Examination(
        name=run.name, level=worst([s.level for s in rows if s.level != "unknown"]), signals=tuple(rows),
        verdicts=tuple(v for v in verdicts if v.level != "normal"), steps=len(loss) if loss is not None else points,
        last_step=run.last_step, unit=run.unit, total_steps=run.total_steps, format=metrics[0].reader if metrics else "", files=tuple(run.files),
        skipped_lines=sum(t.skipped_lines for t in run.tables),
        skipped=tuple(f"{s.file}:{s.line}: {s.why}" for t in run.tables for s in t.skipped)[:5], task=run.task, ended=run.ended, notes=(*notes(run), *broken),
    )  # fmt: skip


def notes(run: History) -> list[str]:
    """What a reader should know about the files."""
    found = []
    c = run.raw_loss
    if c is not None:
        runs = c.runs + int(max(t.before() for t in run.tables))
        if runs > 1:
            found.append(f"{runs} runs follow each other in one file; the last is judged")
        back = c.back_in_time()
        if back:
            found.append(
                f"the clock goes backwards at {c.place(back[0])} ({len(back)} times): ages and pauses are not judged"
            )
        elif run.now is not None and len(c) and run.now + 86400 < c.times[-1] < 1e12:
            found.append("the records are dated in the future: the clock of that machine is wrong, or of this one")
        if c.writers > 1:
            found.append("several processes write this file; rows are merged by step")
        if c.resumed:
            found.append(f"resumed at step {', '.join(map(str, c.resumed[-3:]))}; what it superseded is left out")
    return found


def examine(paths: Sequence[Path], plan: TrainingPlan | None = None, *, now: float | None = None) -> list[Examination]:
    """The state of every run at these paths, the worst first. Raises PapertrainError for what is no log."""
    found = []
    for path in paths:
        for w in watched(path):
            w.poll()
            readable(w, path)
            found.append(judge(History(w.name, w.tables, plan, now=time.time() if now is None else now)))
    order: tuple[State, ...] = ("critical", "warning", "unknown", "normal")
    return sorted(found, key=lambda e: order.index(e.level))


def examine_text(text: str, plan: TrainingPlan | None = None) -> Examination:
    """The state of a log that is given as text: the samples of the rules, standard input."""
    from papertrain.monitor.find import read_text

    return judge(History("text", [read_text(text)], plan))
