"""What a person reads after the runs have ended, or were handed to a scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from papertrain.core.commands import line
from papertrain.core.report import Report
from papertrain.core.texts import say
from papertrain.core.units import show_seconds
from papertrain.core.values import Level, Mode
from papertrain.core.workspace import Workspace
from papertrain.evidence.lines import launching, scorable
from papertrain.evidence.test_set import unpredicted
from papertrain.verbs.launching import attempts

if TYPE_CHECKING:
    from papertrain.verbs.launching.ready import Ready

KILLED = 137
"""A process that signal 9 ended, as a shell says it."""


def told(
    space: Workspace, todo: Sequence[Ready], records: Sequence[dict[str, Any]], mode: Mode, warnings: Sequence[str]
) -> Report:
    """The answer once the runs have ended; the last one says what follows."""
    last = records[-1]
    result, why, action, level = _outcome(space, todo, records)
    return Report(
        verb="launch", mode=mode, level=level, result=result, explanation=why, action=action, warnings=tuple(warnings),
        body="\n".join([*map(_row, records), *attempts.shown(last)]),
        data={"runs": list(records), "started": True, "not_started": [one.run.id for one in todo[len(records):]], "interrupted": last["stopped_by"] == "SIGINT"},
    )  # fmt: skip


def _waits(record: dict[str, Any]) -> bool:
    """Whether a scheduler has the run."""
    return bool(record.get("job")) and record.get("exit_code") is None


def _row(record: dict[str, Any]) -> str:
    if _waits(record):
        return "  " + say("{run} submitted as job {job}", run=record["run"], job=record["job"])
    measured = ", ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in record["last"].items())
    ended = say(
        "{run} ended with exit code {code} after {time}", run=record["run"], code=record["exit_code"], time=show_seconds(record["seconds"])
    )  # fmt: skip
    return f"  {ended}" + (f": {measured}" if measured else "")


def _outcome(space: Workspace, todo: Sequence[Ready], records: Sequence[dict[str, Any]]) -> tuple[str, str, str, Level]:
    """(result, explanation, next command, level)."""
    last = records[-1]
    run, code, stopped, place = last["run"], last["exit_code"], last["stopped_by"], space.run_path(last["run"])
    if attempts.failed(last) and not stopped:
        return *attempts.told(space, last), "error"
    if _waits(last):
        why = say("the scheduler keeps the run; its log is in {log}", log=place / "stdout.log")
        return say("{n} submitted", n=len(records)), why, line("papertrain", "watch", place), "ok"
    if code == 0:
        why = say("each has its record.json: command, versions, digests, exit code")
        return say("{n} of {all} finished", n=len(records), all=len(todo)), why, scoring(space, run), "ok"
    if stopped:
        why = say("the training was told, did not end, and was killed") if code == KILLED else say("the training was told, and ended by itself")  # fmt: skip
        again = launching(space, next((r for r in space.grid() if r.id == run), None))
        return say("{run} was stopped by {signal}, exit code {code}", run=run, signal=stopped, code=code), why, again, "error"  # fmt: skip
    left = len(todo) - len(records)
    result = say("{run} failed with exit code {code}", run=run, code=code) + (say("; {n} not started", n=left) if left else "")  # fmt: skip
    return result, last_said(place / "stdout.log"), line("papertrain", "diagnose", place), "error"


def last_said(log: Path) -> str:
    """What the program said when it ended: the exception with its text, where there is one."""
    from papertrain.monitor.rules.last_words import last_words

    found = last_words(log)
    if found is None:
        return say("its output is in {log}", log=log)
    return say("its last words: {words} ({log}:{line})", words=" ".join(found.text.split())[:200], log=log, line=found.line)  # fmt: skip


def scoring(space: Workspace, run: str) -> str:
    """What follows a finished run: its score, or what it lacks for one."""
    ended = next((r for r in space.grid() if r.id == run), None)
    silent = ended is not None and unpredicted(space, ended) and space.study.method(ended.method).kind == "train"
    return scorable(space, ended) if silent and ended is not None else line("papertrain", "evaluate", space.root)
