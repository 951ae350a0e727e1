"""The words of `watch`: one line a run, one a signal, one a rank, and the next command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from papertrain.core.commands import quoted
from papertrain.core.sentences import translated
from papertrain.core.texts import say
from papertrain.core.wide import folded, padded

if TYPE_CHECKING:
    from papertrain.monitor.history import History
    from papertrain.monitor.run import Examination

CORE = ("train_loss", "eval_loss", "learning_rate", "gpu_utilization", "grad_norm")
COMMANDS = ("nvidia-smi ", "papertrain ", "npu-smi ", "rocm-smi ")


def headline(e: Examination) -> str:
    """One line: the level, the run, its worst signal."""
    from papertrain.monitor.verdict import ORDER

    known = [s for s in e.signals if s.level != "unknown"]
    where = reached(e)
    if finished(e):
        return say("{name} has finished; it writes no curve that could be judged ({where})", name=e.name, where=where)
    if not known:
        return say("unknown: {name} holds no signal that could be judged ({where})", name=e.name, where=where)
    worst = max(known, key=lambda s: ORDER.index(s.level))
    if worst.level == "normal":
        said = next((s for s in known if s.name == "train_loss"), known[0])
        return say(
            "normal: {name}, {signal} {says} ({where})",
            name=e.name,
            signal=said.name,
            says=translated(said.says),
            where=where,
        )
    return say(
        "{level}: {name}: {says} ({where})",
        level=translated(worst.level),
        name=e.name,
        says=translated(worst.says),
        where=where,
    )


def reached(e: Examination) -> str:
    from papertrain.monitor.places import shown

    if e.unit == "epoch" and e.total_steps and e.last_step:
        return say(
            "epoch {at:,} of {total:,}, {percent:.0f} %",
            at=e.last_step,
            total=e.total_steps,
            percent=100 * min(1, e.last_step / e.total_steps),
        )
    if e.unit != "step":
        return shown(e.unit, e.last_step)
    if e.total_steps and e.last_step:
        return say(
            "step {at:,} of {total:,}, {percent:.0f} %",
            at=e.last_step,
            total=e.total_steps,
            percent=100 * min(1, e.last_step / e.total_steps),
        )
    return say("step {at:,}", at=e.last_step) if e.last_step else say("{n:,} rows", n=e.steps)


def signal_lines(e: Examination, width: int = 100, commands: bool = True) -> list[str]:
    """One row per known signal, the five of the method also when unknown (then on one line: -v has the whole). Without
    `commands` those are named only: a view that is redrawn is no place to copy from."""
    room = max(24, width - 28)
    lines = []
    for s in e.signals:
        if s.level == "unknown" and s.name not in CORE:
            continue
        place = (
            f"  {Path(s.seen[0].file).name}" + (f":{s.seen[0].line}" if s.seen[0].line else "")
            if s.level in ("warning", "critical") and s.seen and s.seen[0].file
            else ""
        )
        says, level = translated(s.says), padded(translated(s.level), 8)
        wrapped = folded(says + place, room)
        if s.level == "unknown":
            # A command is never cut: it stands on a line of its own.
            words, colon, command = s.says.partition(": ")
            if colon and command.startswith(COMMANDS):
                lines.append(f"  {s.name:<15} {level}  {translated(words)}" + (":" if commands else ""))
                lines += [f"    {command}"] if commands else []
                continue
            first = folded(says, room - 4)
            wrapped = [first[0] + (" ..." if first[1:] else "")]
        lines.append(f"  {s.name:<15} {level}  {wrapped[0]}")
        lines += [" " * 28 + x for x in wrapped[1:]]
    more = sum(s.level == "unknown" and s.name not in CORE for s in e.signals)
    if more:
        lines.append("  " + say("{n} more signals are not in the log: -v says how to log them", n=more))
    return lines


def rank_lines(run: History) -> list[str]:
    """Where every rank stands, where that was asked for."""
    from papertrain.monitor.ranks import lines

    if run.ranks is None:
        return []
    found = lines(run.ranks)
    if not found:
        return [
            "",
            "  " + say("no stack was found: save one of each rank into the run's folder, for example"),
            "    py-spy dump --pid PID > stacks/rank0.txt",
        ]
    return [
        "",
        *(f"  {x}" for x in found[:32]),
        *([say("  and {n} more", n=len(found) - 32)] if len(found) > 32 else []),
    ]


def table(found: list[Examination]) -> list[str]:
    width = max(len(e.name) for e in found)
    lines = [
        f"  {e.name:<{width}}  {padded(translated(e.level), 8)}  {padded(reached(e), 28)} {loss(e)}" for e in found[:20]
    ]
    return [*lines, *([say("  … {n} more", n=len(found) - 20)] if len(found) > 20 else []), ""]


def finished(e: Examination) -> bool:
    """A run that launch started, that ended well and wrote no curve: a baseline without steps, a scoring."""
    from papertrain.monitor.ranks import record

    known = record(Path(e.files[0]).parent) if e.level == "unknown" and e.files else None
    return known is not None and known["exit_code"] == 0


def loss(e: Examination) -> str:
    if finished(e):
        return say("finished; it writes no curve")
    return translated(next((s.says for s in e.signals if s.name == "train_loss"), ""))[:50]


def curve(e: Examination, run: History, height: int = 5) -> list[str]:
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
        *(
            f"  {x}"
            for x in plot(
                c.steps, c.values, width=76, height=height, title=say("{name} by {unit}", name=c.raw, unit=c.word)
            )
        ),
    ]


def explanation(e: Examination, run: History) -> str:
    """Why the worst signal matters, and which checkpoint is still good."""
    from papertrain.monitor.run import all_rules
    from papertrain.monitor.verdict import ORDER

    worst = max(e.signals, key=lambda s: ORDER.index(s.level))
    if worst.rule:
        rule = all_rules()[worst.rule]
        words = f"{translated(rule.why)} ({rule.id} {rule.name})"
        if worst.cls:
            words += say("; diagnose looks at {cls} first", cls=worst.cls)
        dated = worst.level == "critical" and worst.unit == "step"  # checkpoints are named by their step
        good = last_good(run, worst.since_step) if dated else ""
        return f"{good} {words}".strip()
    if e.level == "unknown":
        missing = next(s for s in e.signals if s.name == "train_loss")
        return say("nothing to judge: {why}", why=translated(missing.says))
    unknown = [s.name for s in e.signals if s.level == "unknown" and s.name in CORE]
    tail = say("; not in the log: {names}", names=", ".join(unknown)) if unknown else ""
    return (
        say("no rule fires on the {n} signals that the log holds", n=sum(s.level == "normal" for s in e.signals)) + tail
    )


def last_good(run: History, since: int | None) -> str:
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


def action(e: Examination, path: Path | None, work: Path | None) -> str | None:
    """One command: the diagnosis where it has a name for what is wrong, else the view that goes on."""
    from papertrain.verbs.diagnosing.watched import named

    target = next((Path(f) for f in e.files), path)
    if path is not None and path.is_dir() and target is not None:
        target = target.parent if target.is_file() else target
    if target is None or str(target) in ("-", "<stdin>"):
        return None
    if e.level == "critical" or any(named(s) for s in e.signals):
        return f"papertrain diagnose {quoted(target)}"
    if finished(e):
        return f"papertrain next {quoted(work)}" if work is not None else None
    if e.level == "unknown" and e.steps == 0 and e.task == "train" and not e.last_step:
        return f"papertrain diagnose {quoted(target)}"
    if e.level != "normal" or not e.ended:
        return f"papertrain watch {quoted(target)} --live"
    return f"papertrain next {quoted(work)}" if work is not None else None
