"""A plan as a Report: the short answer, everything with -v, and what to run now."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from papertrain.core import ways
from papertrain.core.commands import line, quoted
from papertrain.core.report import Report
from papertrain.core.sentences import translated
from papertrain.core.texts import say
from papertrain.core.training import TrainingPlan
from papertrain.core.units import show_number
from papertrain.core.values import Mode
from papertrain.report import plan as words
from papertrain.report.plan import Difference
from papertrain.verbs.planning import questions


def report_of(
    p: TrainingPlan, diffs: list[Difference], *, place: Path | None, mode: Mode, before: TrainingPlan | None, wrote: list[str], notes: list[str],
    asked: dict[str, Any], written: bool, host_ram: str = "", env: str | None = None, swept: Sequence[str] = (), test: str = "", doubts: Sequence[str] = (),
) -> Report:  # fmt: skip
    missing, unavailable = questions.environment_notes(p, env)
    defaults = questions.factory_defaults()
    decisions = words.shown(p, defaults)
    body = [""]
    if before is not None:
        moved = questions.changed(before, p)
        body += [f"  {say('changed')}  {m}" for m in moved] or ([] if swept else [f"  {say('nothing changed')}"])
        body.append("")
    body += words.table(p, decisions, diffs)
    body.append(
        "  " + say("-v shows all {n}, papertrain explain NAME --plan WORK the chain behind one", n=len(p.decisions()))
    )
    body.append("")
    if p.memory is not None and p.memory.device_bytes.value is not None:
        body += words.wrapped(
            words.label(say("memory per card") if p.compute.gpu.id != "cpu" else say("memory")),
            words.memory_line(p.memory),
        )
        seen = "; ".join(map(translated, words.measured(p.memory)[:2]))
        if p.compute.gpu.id != "cpu":
            seen = seen or say("none like yours: launch --smoke measures yours")
        body += words.wrapped(words.label(say("nearest measured")), seen) if seen else []
    if p.compute.gpu.id == "cpu" and p.duration is not None and p.duration.step_seconds.value is not None:
        body += words.wrapped(words.label(say("time")), translated(p.duration.basis))
    if p.compute.said:
        body += words.wrapped(words.label(say("cards")), words.cards_line(p))
    body += words.wrapped(words.label(say("data")), words.data_line(p))
    body += words.wrapped(words.label(say("disk")), disk) if (disk := words.disk_line(p)) else []
    body += words.wrapped(words.label(say("test set")), test) if test else []
    body += [row for n in notes for row in words.wrapped(words.label(say("calibrated")), n)]
    body += words.wrapped(words.label(say("sweep")), "; ".join(swept)) if swept else []
    lead = say("to make it fit") if p.fits in ("no", "tight") else say("other ways")
    room = p.memory.capacity_bytes if p.memory is not None else None
    others = [
        a
        for a in p.alternatives
        if a.fits != "no" and not (room and (a.device_bytes or 0) > room and a.fits == "unknown")
    ]
    others.sort(key=lambda a: a.fits == "unknown")  # what fits first, then what hangs on the host's memory
    if not others and p.fits in ("no", "tight"):
        body += words.wrapped(
            words.label(lead),
            say("no change of the layout does on these cards: larger ones, more of them, or a smaller model"),
        )
    for i, a in enumerate(others[:4]):
        body += words.wrapped(words.label(lead if i == 0 else ""), words.alternative_words(a))
    rest = [d for d in p.decisions() if d not in decisions and d.name != "lora_alpha"]
    details = ["", *words.table(p, rest, diffs), ""]
    details += [
        row
        for d in diffs
        for row in words.wrapped(
            f"  {say('{rules} on {name}', rules=d.rules, name=d.name)}  ",
            f"{show_number(d.theirs)}: {translated(d.why)}",
        )
    ]
    details += [
        f"  {say('measured')}  {translated(row)}" for row in (p.memory.basis[1:] if p.memory is not None else ())
    ]
    details += [f"  {d.name}: {translated(d.source.kind)}: {d.source.ref}" for d in p.decisions()]
    details += ["", *(f"  {d.name}: {translated(c.says)} ({c.ref})" for d in p.decisions() for c in d.contested_by)]
    details += ["", *(f"  {words.alternative_words(a)}" for a in p.alternatives)]
    details += ["", *(f"  {w}" for w in wrote)]
    return Report(
        verb="plan",
        mode=mode,
        level="error" if p.fits == "no" else "warning" if p.fits in ("tight",) else "ok",
        result=words.result_line(p),
        body="\n".join(body) + "\n",
        details="\n".join(details),
        explanation=explanation(p, diffs)
        + (say("; provisional, since nothing is written or confirmed") if mode == "exploratory" else ""),
        action=action(p, place, asked, written, mode, host_ram),
        warnings=(
            *map(translated, p.warnings),
            *doubts,
            *missing,
            *(
                (say("exploratory mode: nothing was written to {place}", place=place),)
                if mode == "exploratory" and place is not None
                else ()
            ),
        ),
        unavailable=tuple(unavailable),
        data={
            **questions.data_of(p, diffs),
            "calibration": notes,
            "files": wrote,
            "sweep": list(swept),
            "changed": questions.changed(before, p),
            "provisional": p.provisional or mode == "exploratory",
        },
    )


def explanation(p: TrainingPlan, diffs: list[Difference]) -> str:
    """Why it fits or not, in the words of the decision that mattered; then where the rule sets part."""
    lead = (
        p.offload
        if p.offload.value != "none"
        else p.zero_stage
        if p.zero_stage.value or p.compute.gpus > 1
        else p.gradient_checkpointing
    )
    text = translated(lead.why)
    quick = next(
        (
            a
            for a in p.alternatives
            if a.effect == "execution"
            and "gpus" not in a.changes
            and a.relative_time is not None
            and a.relative_time < 0.5
        ),
        None,
    )
    if quick is not None and p.fits == "yes":
        text += "; " + say("much faster: {what}", what=translated(quick.what))
    rates = [say("{name} {ours} ({rules}) or {theirs} ({others})", name=d.name, ours=show_number(d.ours), rules=p.rules, theirs=show_number(d.theirs), others=d.rules) for d in diffs][:3]  # fmt: skip
    if rates:
        text += "; " + say("the rule sets differ on {names}", names=", ".join(rates))
    return text


def command_of(o: dict[str, Any], changes: tuple[dict[str, str], dict[str, str]] = ({}, {})) -> str:
    """The same call as a line to copy: the options that were given, with the changes of another way, quoted for a shell."""
    options, sets = changes
    words = ["papertrain", "plan", str(o["target"])]
    for key in ("data", "test", "gpu", "nodes", "host_ram", "disk", "task", "method", "seq_len", "rules", "name"):
        said = options.get(key, o[key])
        if key == "nodes" and "gpu" in options:
            said = options.get("nodes")
        if said is not None:
            words += [f"--{key.replace('_', '-')}", str(said)]
    gone = {*sets, *(name for name, option in ways.OPTIONS.items() if option in options)}
    gone |= {"micro_batch_size", "gradient_accumulation_steps", "zero_stage", "offload"} if "gpu" in options else set()
    gone |= {"gradient_accumulation_steps"} if "micro_batch_size" in sets else set()
    kept = [pair for pair in o["sets"] if pair.partition("=")[0].strip().replace("-", "_") not in gone]
    words += [w for pair in (*kept, *(f"{k}={v}" for k, v in sets.items())) for w in ("--set", pair)]
    words += [w for said in o["columns"] for w in ("--columns", said)]
    words += ["--fine-grained"] if o["fine_grained"] else []
    return shlex.join(words)


def action(
    p: TrainingPlan,
    place: Path | None,
    asked: dict[str, Any],
    written: bool,
    mode: Mode | None = None,
    host_ram: str = "",
) -> str:
    """What to run now: the nearest way to make it fit, else the step after the plan."""
    best = ways.nearest_way(p) if p.fits == "no" else None
    if best is not None:
        changes = ways.way(p, best.changes)
        if written and place is not None:
            return line("papertrain", "plan", place, *ways.words(*changes))
        return command_of(asked, changes)
    if p.fits == "no" and host_ram:
        if written and place is not None:
            return line("papertrain", "plan", place, "--host-ram", host_ram, "--mode", "exploratory")
        return command_of(asked, ({"host_ram": host_ram}, {}))
    if p.fits == "no":
        return "papertrain explain recipes"
    if written and place is not None:
        from papertrain.core.workspace import Workspace
        from papertrain.evidence.checklist import next_step

        step = next_step(Workspace(place), mode)
        return step.next if step is not None else line("papertrain", "generate", place)
    if p.dataset is None:
        return line("papertrain", "plan", "--help")
    return f"{command_of(asked)} -o {quoted(place) if place is not None else 'work'}"
