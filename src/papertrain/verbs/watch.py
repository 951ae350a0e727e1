"""`watch`: how is it going."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from papertrain.core.commands import quoted
from papertrain.core.params import Arg, ModeArg
from papertrain.core.report import Report
from papertrain.core.texts import say
from papertrain.core.values import Level
from papertrain.verbs.watching.text import (
    action,
    curve,
    explanation,
    finished,
    headline,
    rank_lines,
    signal_lines,
    table,
)

if TYPE_CHECKING:
    from papertrain.core.training import TrainingPlan
    from papertrain.monitor.history import History
    from papertrain.monitor.run import Examination
    from papertrain.monitor.verdict import SignalState

LEVELS: dict[str, Level] = {"critical": "error", "warning": "warning", "normal": "ok", "unknown": "ok"}


def watch(
    paths: Annotated[Sequence[Path], Arg("run folders, log files or a workspace; - is standard input", "PATH")],
    *,
    plan: Annotated[Path | None, Arg("compare with this plan (plan.json, or a workspace)", "FILE")] = None,
    live: Annotated[bool, Arg("keep a view on the terminal until the run ends or Ctrl-C")] = False,
    until: Annotated[Literal["warning", "critical"] | None, Arg("return as soon as a signal is that bad")] = None,
    notify: Annotated[str | None, Arg("run this command, or post to this web hook, once per alarm", "CMD")] = None,
    stacks: Annotated[
        bool, Arg("read what every rank is doing: py-spy, saved stack dumps, flight-recorder files")
    ] = False,
    interval: Annotated[float, Arg("seconds between two looks", "SECONDS", advanced=True)] = 5.0,
    mode: ModeArg = None,
) -> Report:
    """Show how a run is going: every signal normal, warning or critical.

    Each row is one signal with its level, since which step, what it means and the line of the log that shows it. Signals
    that are not in the log are unknown; -v says how to log them. Of several runs the worst comes first. Exit code 1 when
    a signal is critical.

    papertrain watch runs/ours.reviews.1
    papertrain watch train.log --plan work/plans/ours/plan.json
    papertrain watch work --live
    papertrain watch run --until critical --notify "notify-send papertrain"
    papertrain watch run --stacks
    """
    from papertrain.core.errors import PapertrainError

    if not paths:
        raise PapertrainError(
            "nothing to watch: name a run folder or a log", code="missing-path", command="papertrain watch RUN"
        )
    if not 0.05 <= interval <= 3600:
        raise PapertrainError("the interval is from 0.05 to 3600 seconds", code="bad-interval")
    if [str(p) for p in paths] == ["-"]:
        return _report(*_standard_input(_plan(plan)), mode=mode)
    if "-" in map(str, paths):
        raise PapertrainError("standard input (-) can only be watched alone", code="bad-path")
    targets = [r for p in paths for r in _runs(p)]
    if live or until or notify:
        from papertrain.verbs.watching.live import follow

        found, histories = follow(
            targets, lambda p: _plan(plan) or _plan_of(p), live=live, until=until, notify=notify, interval=interval
        )
    if stacks or not (live or until or notify):
        found, histories = _examine(targets, plan, stacks)
    return _report(found, histories, mode=mode, path=paths[0], work=_work(paths[0]))


def _examine(targets: list[Path], plan: Path | None, stacks: bool = False) -> tuple[list[Examination], list[History]]:
    import time

    from papertrain.monitor.history import History
    from papertrain.monitor.ranks import of_run
    from papertrain.monitor.run import judge, readable, watched

    found, histories = [], []
    for path in targets:
        for w in watched(path):
            w.poll()
            readable(w, path)
            run = History(w.name, w.tables, _plan(plan) or _plan_of(path), now=time.time())
            if stacks:
                run.ranks = of_run(path if path.is_dir() else path.absolute().parent)
            histories.append(run)
            found.append(judge(run))
    return found, histories


def _standard_input(plan: TrainingPlan | None) -> tuple[list[Examination], list[History]]:
    import sys

    from papertrain.monitor.find import read_text
    from papertrain.monitor.history import History
    from papertrain.monitor.run import judge

    text = sys.stdin.read(2**28)
    run = History("standard input", [read_text(text, "-")], plan)
    return [judge(run)], [run]


# ---- what is watched


def _runs(path: Path) -> list[Path]:
    """The runs of a workspace, or the path itself. Raises PapertrainError for a workspace without a run."""
    from papertrain.core.errors import PapertrainError
    from papertrain.core.workspace import Workspace
    from papertrain.monitor.find import logs_in

    if not path.is_dir() or not Workspace.is_workspace(path):
        return [path]
    runs = (
        # runs/earlier holds attempts that were set aside: they are history, not runs of the study.
        [p for p in sorted((path / "runs").glob("*")) if p.is_dir() and p.name != "earlier" and logs_in(p)]
        if (path / "runs").is_dir()
        else []
    )
    if not runs:
        raise PapertrainError(
            "this workspace has no run with a log yet",
            code="no-run",
            file=path,
            command=f"papertrain launch {quoted(path)}",
        )
    return runs


def _work(path: Path) -> Path | None:
    """The workspace in or above a path."""
    from papertrain.core.workspace import Workspace

    return next((p for p in (path, *path.absolute().parents[:4]) if p.is_dir() and Workspace.is_workspace(p)), None)


def _plan(path: Path | None) -> TrainingPlan | None:
    import msgspec

    from papertrain.core.errors import PapertrainError
    from papertrain.core.files import read_text
    from papertrain.core.training import read_plan
    from papertrain.core.workspace import Workspace

    if path is None:
        return None
    if path.is_dir():
        return Workspace.open(path).plan()
    try:
        return read_plan(read_text(path, limit=5 * 2**20))
    except msgspec.MsgspecError as error:
        raise PapertrainError(f"not a plan that papertrain wrote: {error}", code="broken-plan", file=path) from None


def _plan_of(path: Path) -> TrainingPlan | None:
    """The plan of a run that lies in a workspace; None for a log from elsewhere or a method without plan."""
    from papertrain.core.errors import PapertrainError
    from papertrain.core.workspace import Workspace

    work = _work(path)
    if work is None:
        return None
    names = [p for p in path.absolute().parts if p.count(".") >= 2]
    try:
        return Workspace(work).plan(names[-1].split(".")[0]) if names else None
    except PapertrainError:
        return None


# ---- the answer


def _report(
    found: list[Examination],
    histories: list[History],
    *,
    mode: Any = None,
    path: Path | None = None,
    work: Path | None = None,
) -> Report:
    from papertrain.core.gate import decide_mode

    order = ("critical", "warning", "unknown", "normal")
    pairs = sorted(zip(found, histories), key=lambda x: len(order) if finished(x[0]) else order.index(x[0].level))
    worst, run = pairs[0]
    several = len(pairs) > 1
    data = _data(worst)
    if several:
        data["runs"] = [{"run": e.name, **_data(e)} for e, _ in pairs]
    if run.ranks is not None:
        data["ranks"] = _rank_rows(run)
    unknown = [s for s in worst.signals if s.level == "unknown"]
    missing = [say("{name}: {how}", name=s.name, how=s.says) for s in unknown]
    return Report(
        verb="watch",
        mode=decide_mode(mode, work or path),
        level=LEVELS[worst.level],
        result=headline(worst),
        body="\n".join(
            [
                *(table([e for e, _ in pairs]) if several else []),
                *signal_lines(worst),
                *rank_lines(run),
                *curve(worst, run),
            ]
        ),
        details="\n".join(["", *(f"  unknown  {m}" for m in missing), *(f"  skipped  {s}" for s in worst.skipped)]),
        explanation=explanation(worst, run),
        action=action(worst, path, work),
        data=data,
        warnings=tuple(worst.notes)
        + (run.ranks.problems if run.ranks is not None else ())
        + _damaged(worst.skipped_lines),
    )


def _damaged(n: int) -> tuple[str, ...]:
    if n == 0:
        return ()
    return (say("one damaged line was passed over") if n == 1 else say("{n} damaged lines were passed over", n=n),)


def _data(e: Examination) -> dict[str, Any]:
    return {
        "level": e.level,
        "signals": [_signal(s) for s in e.signals],
        "steps": e.steps,
        "last_step": e.last_step,
        "unit": e.unit,
        "total_steps": e.total_steps,
        "format": e.format,
        "skipped_lines": e.skipped_lines,
        "skipped": list(e.skipped),
        "task": e.task,
        "ended": e.ended,
        "files": list(e.files),
    }


def _rank_rows(run: History) -> list[dict[str, Any]]:
    assert run.ranks is not None
    rows: list[dict[str, Any]] = [
        {
            "rank": s.rank,
            "host": s.host,
            "pid": s.pid,
            "doing": s.doing,
            "still": s.still,
            "file": s.file,
            "line": s.at,
            "stack": [str(f) for f in s.frames[:20]],
        }
        for s in run.ranks.stacks
    ]
    for f in run.ranks.flights:
        rows += [
            {
                "rank": f.rank,
                "host": f.host,
                "group": g.group,
                "enqueued": g.enqueued,
                "completed": g.completed,
                "operation": g.op,
                "state": g.state,
                "file": f.file,
            }
            for g in f.groups
        ]
    return rows


def _signal(s: SignalState) -> dict[str, Any]:
    from math import isfinite

    evidence = []
    for x in s.seen:
        row: dict[str, Any] = {
            "file": x.file,
            "line": x.line,
            "step": x.step,
            "unit": x.unit if x.step is not None else None,
            "value": x.value if isfinite(x.value) else None,
            "name": x.name,
        }
        if not isfinite(x.value):
            row |= {"printed": str(x.value), "reason": "JSON has no such number"}
        evidence.append(row)
    return {
        "name": s.name,
        "level": s.level,
        "since_step": s.since_step,
        "unit": s.unit if s.since_step is not None else None,
        "says": s.says,
        "rule": s.rule or None,
        "class": s.cls or None,
        "evidence": evidence,
    }
