"""TR140: the log ends in an exception, or in the word of who killed it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from papertrain.core.files import blocks
from papertrain.core.findings import Rule, Signal
from papertrain.core.texts import say
from papertrain.core.values import Source
from papertrain.monitor.history import History
from papertrain.monitor.verdict import State, Verdict

TAIL = 1 << 16
COUNTED = 1 << 28
"""Larger files are not read whole only to name a line."""
BINARY = frozenset(("tensorboard", "wandb", "trackio", "mlflow"))
_FRONT = r"(?:\[(?:rank)?\d+\]:?\s*|\(\w[^)]*pid=\d+[^)]*\)\s*|\d+:\s*)?"
_RAISED = re.compile(rf"^{_FRONT}((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt))(?::\s|:?$)")
_TRACE = re.compile(rf"(?:^{_FRONT}|[\]\r|] *)Traceback \(most recent call last\)")
"""A progress bar ends without a line break: the traceback stands behind it on the same line."""
_KILLED = re.compile(r"^(?:.*: line \d+:\s+\d+ )?(Killed|Segmentation fault|Bus error|Aborted)(?:\s+\(core dumped\))?(?:\s|$)|^slurmstepd: error: (.*(?:oom|CANCELLED).*)$")  # fmt: skip
STOPPED = ("KeyboardInterrupt",)


def check(run: History) -> Iterator[Verdict]:
    if run.ended:
        return
    for file, reader in dict.fromkeys((t.file, t.reader) for t in run.tables):
        if reader in BINARY or (found := last_words(Path(file))) is None:
            continue
        line, word, _ = found
        rows = [c.lines[-1] for t in run.tables if t.file == file for c in t.columns.values() if len(c)]
        if line <= max(rows, default=0):
            continue
        level: State = "warning" if word in STOPPED or "CANCELLED" in word else "critical"
        says = say("the log ends in {word} after {unit} {step:,}", word=word[:80], step=run.last_step, unit=run.word)
        seen = Signal(name="last_words", value=0.0, step=run.last_step, unit=run.unit, file=file, line=line)
        yield Verdict(
            rule=RULE.id,
            signal="heartbeat",
            level=level,
            says=says,
            since_step=run.last_step,
            unit=run.unit,
            seen=(seen,),
            cls=cls(word),
        )
        return


def cls(word: str) -> str:
    """The class that the word alone says; of an exception (out of memory, too) `diagnose` decides, by frames and numbers."""
    if word == "Killed" or "oom" in word:
        return "host-ram-oom-killer"
    return "interrupted-by-user" if word in STOPPED else ""


class Words(NamedTuple):
    """What a log ends in. line: its number, 0 in a file too large to be counted; word: the exception or the kill; text: the line."""

    line: int
    word: str
    text: str


def last_words(file: Path) -> Words | None:
    """The first exception that was raised behind the last traceback's start, or the kill; None without."""
    try:
        s = file.stat()
    except OSError:
        return None
    return _words(file, s.st_ino, s.st_size, s.st_mtime_ns)


@lru_cache(maxsize=1024)
def _words(file: Path, inode: int, size: int, changed: int) -> Words | None:
    """The same of one state of the file: a run that is looked at every second has rarely written since."""
    try:
        with file.open("rb") as f:
            f.seek(max(0, size - TAIL))
            tail = f.read(TAIL)
    except OSError:
        return None
    if b"\0" in tail:
        return None
    lines = tail.decode("utf-8", "replace").split("\n")
    traced = False
    for i, text in enumerate(lines):
        if _TRACE.search(text):
            traced = True
        elif (m := _KILLED.match(text)) or (traced and (m := _RAISED.match(text))):
            word = next(g for g in m.groups() if g)
            return Words(_number(file, size, len(lines) - i), word.rsplit(".", 1)[-1], text)
    return None


def _number(file: Path, size: int, from_end: int) -> int:
    if size > COUNTED:
        return 0
    with file.open("rb") as f:
        whole = sum(block.count(b"\n") for block in blocks(f))
    return whole + 2 - from_end


RULE = Rule(
    id="TR140",
    name="last-words",
    level="critical",
    check=check,
    applies="Text logs: what the program printed.",
    what="Behind the last row of training numbers stands a traceback with its exception, `Killed`, `Segmentation fault`, `Bus error`, `Aborted`, or Slurm's word of an end by memory "
    "(critical); or a KeyboardInterrupt or a cancelled job (warning).",
    why="The curve may look well up to its last point: nothing comes after it. `diagnose` reads the exception.",
    known_problems="An exception that the program caught, printed and lived on after looks the same until the next row comes.",
    source=Source(
        kind="code",
        ref="CPython traceback.py: the header line of a traceback and the line of its exception; bash's words for signals",
    ),
    status="stable",
    fires="==> train.log <==\n"
    + "\n".join(
        f"{{'loss': {2 - 0.01 * i:.2f}, 'grad_norm': 1.0, 'learning_rate': 1e-05, 'epoch': {i / 100}}}"
        for i in range(1, 21)
    )
    + '\nTraceback (most recent call last):\n  File "train.py", line 3, in <module>\n    loss.backward()\ntorch.OutOfMemoryError: CUDA out of memory.',
    quiet="step=1 loss=2.0\nstep=2 loss=1.9",
)
