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

if TYPE_CHECKING:
    from papertrain.core.training import TrainingPlan
    from papertrain.monitor.history import History
    from papertrain.monitor.run import Examination
    from papertrain.monitor.verdict import SignalState

CORE = ("train_loss", "eval_loss", "learning_rate", "gpu_utilization", "grad_norm")
COMMANDS = ("nvidia-smi ", "papertrain ", "npu-smi ", "rocm-smi ")
LEVELS: dict[str, Level] = {"critical": "error", "warning": "warning", "normal": "ok", "unknown": "ok"}


def watch(
    paths: Annotated[Sequence[Path], Arg("run folders, log files or a workspace; - is standard input", "PATH")],
    *,
    plan: Annotated[Path | None, Arg("compare with this plan (plan.json, or a workspace)", "FILE")] = None,
    live: Annotated[bool, Arg("keep a view on the terminal until the run ends or Ctrl-C")] = False,
    until: Annotated[Literal["warning", "critical"] | None, Arg("return as soon as a signal is that bad")] = None,
    notify: Annotated[str | None, Arg("run this command, or post to this web hook, once per alarm", "CMD")] = None,
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
    targets = [r for p in paths for r in _runs(p)]
    if live or until or notify:
        from papertrain.verbs._watch_live import follow

        found, histories = follow(
            targets, lambda p: _plan(plan) or _plan_of(p), live=live, until=until, notify=notify, interval=interval
        )
    else:
        found, histories = _examine(targets, plan)
    return _report(found, histories, mode=mode, path=paths[0], work=_work(paths[0]))


def _examine(targets: list[Path], plan: Path | None) -> tuple[list[Examination], list[History]]:
    import time

    from papertrain.monitor.history import History
    from papertrain.monitor.run import judge, watched

    found, histories = [], []
    for path in targets:
        for w in watched(path):
            w.poll()
            run = History(w.name, w.tables, _plan(plan) or _plan_of(path), now=time.time())
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
    pairs = sorted(zip(found, histories), key=lambda x: order.index(x[0].level))
    worst, run = pairs[0]
    several = len(pairs) > 1
    data = _data(worst)
    if several:
        data["runs"] = [{"run": e.name, **_data(e)} for e, _ in pairs]
    unknown = [s for s in worst.signals if s.level == "unknown"]
    missing = [say("{name}: {how}", name=s.name, how=s.says) for s in unknown]
    return Report(
        verb="watch",
        mode=decide_mode(mode, work or path),
        level=LEVELS[worst.level],
        result=headline(worst, several),
        body="\n".join(
            [*(_table([e for e, _ in pairs]) if several else []), *signal_lines(worst), *_curve(worst, run)]
        ),
        details="\n".join(["", *(f"  unknown  {m}" for m in missing), *(f"  skipped  {s}" for s in worst.skipped)]),
        explanation=_explanation(worst, run),
        action=_action(worst, path, work),
        data=data,
        warnings=tuple(worst.notes)
        + ((say("{n} damaged lines were passed over", n=worst.skipped_lines),) if worst.skipped_lines else ()),
    )


def _data(e: Examination) -> dict[str, Any]:
    return {
        "level": e.level,
        "signals": [_signal(s) for s in e.signals],
        "steps": e.steps,
        "last_step": e.last_step,
        "total_steps": e.total_steps,
        "format": e.format,
        "skipped_lines": e.skipped_lines,
        "skipped": list(e.skipped),
        "task": e.task,
        "ended": e.ended,
        "files": list(e.files),
    }


def _signal(s: SignalState) -> dict[str, Any]:
    from math import isfinite

    evidence = []
    for x in s.seen:
        row: dict[str, Any] = {
            "file": x.file,
            "line": x.line,
            "step": x.step,
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
        "says": s.says,
        "rule": s.rule or None,
        "class": s.cls or None,
        "evidence": evidence,
    }


def headline(e: Examination, several: bool = False) -> str:
    """One line: the level, the run, its worst signal."""
    from papertrain.monitor.verdict import ORDER

    known = [s for s in e.signals if s.level != "unknown"]
    where = _where(e)
    if not known:
        return say("unknown: {name} holds no signal that could be judged ({where})", name=e.name, where=where)
    worst = max(known, key=lambda s: ORDER.index(s.level))
    if worst.level == "normal":
        said = next((s for s in known if s.name == "train_loss"), known[0])
        return say(
            "normal: {name}, {signal} {says} ({where})", name=e.name, signal=said.name, says=said.says, where=where
        )
    return say("{level}: {name}: {says} ({where})", level=worst.level, name=e.name, says=worst.says, where=where)


def _where(e: Examination) -> str:
    if e.total_steps and e.last_step:
        return say(
            "step {at:,} of {total:,}, {percent:.0f} %",
            at=e.last_step,
            total=e.total_steps,
            percent=100 * min(1, e.last_step / e.total_steps),
        )
    return say("step {at:,}", at=e.last_step) if e.last_step else say("{n:,} rows", n=e.steps)


def signal_lines(e: Examination, width: int = 100) -> list[str]:
    """One row per known signal, the five of the method also when unknown (then on one line: -v has the whole)."""
    import textwrap

    room = max(24, width - 28)
    lines = []
    for s in e.signals:
        if s.level == "unknown" and s.name not in CORE:
            continue
        place = (
            f"  {Path(s.seen[0].file).name}:{s.seen[0].line}"
            if s.level in ("warning", "critical") and s.seen and s.seen[0].file
            else ""
        )
        wrapped = textwrap.wrap(s.says + place, width=room, break_long_words=False) or [""]
        if s.level == "unknown":
            # A command is never cut: it stands on a line of its own.
            words, colon, command = s.says.partition(": ")
            if colon and command.startswith(COMMANDS):
                lines += [f"  {s.name:<15} {s.level:<8}  {words}:", f"    {command}"]
                continue
            wrapped = [textwrap.shorten(s.says, room, placeholder=" ...")]
        lines.append(f"  {s.name:<15} {s.level:<8}  {wrapped[0]}")
        lines += [" " * 28 + x for x in wrapped[1:]]
    more = sum(s.level == "unknown" and s.name not in CORE for s in e.signals)
    if more:
        lines.append("  " + say("{n} more signals are not in the log: -v says how to log them", n=more))
    return lines


def _table(found: list[Examination]) -> list[str]:
    width = max(len(e.name) for e in found)
    lines = [f"  {e.name:<{width}}  {e.level:<8}  {_where(e):<28} {_loss(e)}" for e in found[:20]]
    return [*lines, *([f"  … {len(found) - 20} more"] if len(found) > 20 else []), ""]


def _loss(e: Examination) -> str:
    return next((s.says for s in e.signals if s.name == "train_loss"), "")[:50]


def _curve(e: Examination, run: History, height: int = 5) -> list[str]:
    """The curve of the worst signal, else of the loss."""
    from papertrain.report.curves import plot

    bad = next(
        (s.name for s in e.signals if s.level == "critical"),
        next((s.name for s in e.signals if s.level == "warning"), "train_loss"),
    )
    c = (
        (run.evaluations[0] if run.evaluations else None)
        if bad == "eval_loss"
        else run.raw_loss
        if bad == "train_loss"
        else run.one(bad)
    )
    c = c if c is not None and len(c) >= 8 else run.raw_loss
    if c is None or len(c) < 8:
        return []
    return [
        "",
        *(f"  {x}" for x in plot(c.steps, c.values, width=76, height=height, title=say("{name} by step", name=c.raw))),
    ]


def _explanation(e: Examination, run: History) -> str:
    """Why the worst signal matters, and which checkpoint is still good."""
    from papertrain.monitor.run import all_rules
    from papertrain.monitor.verdict import ORDER

    worst = max(e.signals, key=lambda s: ORDER.index(s.level))
    if worst.rule:
        rule = all_rules()[worst.rule]
        words = f"{rule.why} ({rule.id} {rule.name})"
        if worst.cls:
            words += say("; diagnose looks at {cls} first", cls=worst.cls)
        good = _last_good(run, worst.since_step) if worst.level == "critical" else ""
        return f"{good} {words}".strip()
    if e.level == "unknown":
        missing = next(s for s in e.signals if s.name == "train_loss")
        return say("nothing to judge: {why}", why=missing.says)
    unknown = [s.name for s in e.signals if s.level == "unknown" and s.name in CORE]
    tail = say("; not in the log: {names}", names=", ".join(unknown)) if unknown else ""
    return (
        say("no rule fires on the {n} signals that the log holds", n=sum(s.level == "normal" for s in e.signals)) + tail
    )


def _last_good(run: History, since: int | None) -> str:
    """The newest checkpoint from before the fault."""
    if since is None:
        return ""
    folders = [run.folder, *run.folder.glob("*/")] if run.folder.is_dir() else []
    steps = sorted(
        {
            int(p.name.rpartition("-")[2])
            for f in folders
            for p in f.glob("checkpoint-*")
            if p.name.rpartition("-")[2].isdigit()
        }
    )
    good = [s for s in steps if s < since]
    if good:
        return say("checkpoint-{step} is from before it; everything after it is in doubt.", step=good[-1])
    return say("No checkpoint from before step {step} is left.", step=since) if steps else ""


def _action(e: Examination, path: Path | None, work: Path | None) -> str | None:
    """One command: the diagnosis where it has a name for what is wrong, else the view that goes on."""
    from papertrain.verbs._watched import named

    target = next((Path(f) for f in e.files), path)
    if path is not None and path.is_dir() and target is not None:
        target = target.parent if target.is_file() else target
    if target is None or str(target) in ("-", "<stdin>"):
        return None
    if any(named(s) for s in e.signals):
        return f"papertrain diagnose {quoted(target)}"
    if e.level == "unknown" and e.steps == 0 and e.task == "train" and not e.last_step:
        return f"papertrain diagnose {quoted(target)}"
    if e.level != "normal" or not e.ended:
        return f"papertrain watch {quoted(target)} --live"
    return f"papertrain next {quoted(work)}" if work is not None else None
