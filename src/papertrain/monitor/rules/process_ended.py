"""TR136: the process that `papertrain launch` started has failed, or is gone."""

from __future__ import annotations

import os
from collections.abc import Iterator

from papertrain.core.findings import Rule, Signal
from papertrain.core.texts import say
from papertrain.core.values import Source
from papertrain.monitor.history import History
from papertrain.monitor.ranks import RECORD, record
from papertrain.monitor.verdict import State, Verdict

STOPPED = (130, 143)
"""Ctrl-C and SIGTERM: somebody, or a scheduler, meant it."""


def check(run: History) -> Iterator[Verdict]:
    found = record(run.folder)
    if found is None:
        return
    code = found.get("exit_code")
    level: State = "critical"
    if code in STOPPED:
        level = "warning"
        says = say(
            "the process was stopped (exit code {code}) at {unit} {step:,}",
            code=code,
            step=run.last_step,
            unit=run.word,
        )
    elif isinstance(code, int) and code != 0:
        says = say(
            "the process ended with exit code {code} at {unit} {step:,}", code=code, step=run.last_step, unit=run.word
        )
    elif code is None and not run.ended and isinstance(found.get("pid"), int) and not alive(found["pid"]):
        level = "warning"
        says = say("process {pid} is gone and never recorded an end", pid=found["pid"])
    else:
        return
    seen = Signal(
        name="exit_code",
        value=float(code) if isinstance(code, int) else 0.0,
        step=run.last_step,
        unit=run.unit,
        file=str(run.folder / RECORD),
        line=1,
    )
    yield Verdict(
        rule=RULE.id, signal="heartbeat", level=level, says=says, since_step=run.last_step, unit=run.unit, seen=(seen,)
    )


def alive(pid: int) -> bool:
    """Whether a process of that number exists on this machine."""
    if not 0 < pid < 1 << 31:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


RULE = Rule(
    id="TR136",
    name="process-ended",
    level="critical",
    check=check,
    applies="Runs that papertrain launched.",
    what="The record of a launched run says that its process ended with another exit code than 0 (critical; a warning for Ctrl-C and SIGTERM), or names a process that is gone while no "
    "end was recorded (warning).",
    why="The curve may look well up to its last point: nothing comes after it.",
    known_problems="A run on another machine has a process that cannot be seen from here.",
    source=Source(kind="code", ref="papertrain launch: runs/<run-id>/record.json"),
    status="stable",
    fires="==> trainer_log.jsonl <==\n"
    + "\n".join(f'{{"current_steps": {i * 10}, "total_steps": 1000, "loss": {2 - 0.01 * i:.2f}}}' for i in range(1, 21))
    + '\n==> record.json <==\n{"pid": 7, "exit_code": 1}',
    quiet="step=1 loss=2.0\nstep=2 loss=1.9",
)
