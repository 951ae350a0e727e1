"""launch: start the run, or all runs of the study that are missing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from papertrain.core.commands import line
from papertrain.core.params import Arg, DryRunArg, EnvArg, ModeArg, OverwriteArg
from papertrain.core.report import Report
from papertrain.core.texts import say

if TYPE_CHECKING:
    from papertrain.core.environment import Environment
    from papertrain.core.values import Level, Mode
    from papertrain.core.workspace import Run, Workspace
    from papertrain.verbs.launching.starting import Ready
    from papertrain.verbs.launching.supervision import Policy


KILLED = 137
"""A process that signal 9 ended, as a shell says it."""


def launch(
    work: Annotated[Path, Arg("the workspace", "WORK")],
    *,
    run: Annotated[str | None, Arg("this cell of the study: <method>.<data>.<seed>", "ID")] = None,
    missing: Annotated[bool, Arg("every cell that has no finished run, one after another")] = False,
    max_: Annotated[int | None, Arg("with --missing: at most so many", "N", name="max")] = None,
    target: Annotated[
        str | None, Arg("start this framework's files: script (default), llamafactory, trl, axolotl", "NAME")
    ] = None,
    launcher: Annotated[
        str | None, Arg("local, torchrun, slurm or ray (default: by the plan's devices)", "NAME")
    ] = None,
    smoke: Annotated[
        bool, Arg("ten real steps on the longest samples, validation, save, kill and resume: measures memory and time")
    ] = False,
    resume: Annotated[bool, Arg("go on from the last checkpoint")] = False,
    supervise: Annotated[
        bool, Arg("watch the run; on a failure, or a loss that is not finite, stop it and diagnose")
    ] = False,
    requeue: Annotated[
        bool,
        Arg("supervised: after a failure of node, network or disk start again from the last good checkpoint"),
    ] = False,
    repair: Annotated[
        Literal["execution"] | None,
        Arg("supervised: apply fixes that change only the execution, and go on; never the experiment"),
    ] = None,
    restarts: Annotated[int, Arg("supervised: start a run again at most so many times", "N")] = 3,
    yes: Annotated[bool, Arg("start; without it the command is shown, and asked for at a terminal")] = False,
    tasks: Annotated[
        Sequence[str],
        Arg("evaluate the trained methods on these tasks instead, as `evaluate --tasks` shows it", "TASK"),
    ] = (),
    shots: Annotated[int | None, Arg("with --tasks: few-shot examples", "N")] = None,
    passthrough: Annotated[Sequence[str], Arg("words after -- are passed to the training")] = (),
    env: EnvArg = None,
    mode: ModeArg = None,
    overwrite: OverwriteArg = False,
    dry_run: DryRunArg = False,
) -> Report:
    """Start the run, or all runs of the study that are missing, and keep a record of each.

    The exact command, its variables, the training environment and the files it reads are shown first; --yes starts it.
    Output goes to runs/<run>/stdout.log, the record (command, digests, versions, exit code) to runs/<run>/record.json.
    Supervised, each attempt, its cause and what was changed are kept in runs/<run>/supervised.json.
    Ctrl-C and SIGTERM are passed on: the training saves a checkpoint and stops. In standard mode nothing starts before
    the plan is confirmed.

      papertrain launch work --dry-run               what would run
      papertrain launch work --yes
      papertrain launch work --missing --max 2 --yes
      papertrain launch work --resume --yes -- --learning_rate 1e-4
      papertrain launch work --supervise --requeue --repair execution --yes
    """
    if tasks:
        from papertrain.verbs.evaluating.runs import launched

        return launched(
            work, tasks, shots=shots, run=run, more=passthrough, env=env, mode=mode, start=yes and not dry_run
        )
    from msgspec import structs

    from papertrain.core.gate import decide_mode, require_confirmed
    from papertrain.core.workspace import Workspace
    from papertrain.verbs.launching import arrays, starting, supervision

    policy = supervision.policy(supervise, requeue, repair, restarts)
    space = Workspace.open(work)
    settled = decide_mode(mode, space.root)
    chosen = starting.cells(space, run, missing, max_, overwrite)
    if not chosen:
        return Report(verb="launch", mode=settled, result=say("nothing to start: every run of the study is done"),
                      explanation=say("--run ID --overwrite starts one again"), action=_scoring(space, (run or next((r.id for r in space.grid()), ""))), data={"runs": [], "started": False})  # fmt: skip
    for cell in chosen:
        if space.study.method(cell.method).kind == "train":
            require_confirmed(space, cell.method, settled, say("launch of {run}", run=cell.id))
    environment = starting.environment_of(space, env)
    if smoke:
        from papertrain.verbs.launching import smoke_run

        return smoke_run.smoke(space, chosen[0], environment, settled, target=target, start=yes and not dry_run)
    unready: list[str] = []
    todo = [
        _prepared(
            space,
            cell,
            environment,
            target=target,
            launcher=launcher,
            resume=resume,
            overwrite=overwrite,
            more=passthrough,
            shown=unready if dry_run else None,
        )
        for cell in chosen
    ]
    array = policy is None and arrays.fits(todo)
    warnings = [
        *dict.fromkeys(unready),
        *_too_large(space, chosen),
        *_unscored(space, chosen),
        *_stale(space, chosen, settled),
        *_preflight(space, todo, settled),
    ]
    body = "\n".join(line for one in todo for line in [*starting.shown(one, environment, script=not array), ""])
    if array:
        body += "\n".join(f"    {line}" for line in arrays.script(space, todo).splitlines())
    plain = [_plain(one) for one in todo]
    if env is not None and env != "auto":
        todo = [structs.replace(one, asked_environment=str(Path(env).absolute())) for one in todo]
    stopped = next((e for one in todo if (e := starting.cannot_start(space, one, environment)) is not None), None)
    if stopped is not None and yes and not dry_run:
        raise stopped
    if stopped is not None or dry_run or not (yes or _asked(body)):
        why = say("a dry run: nothing was started") if dry_run else say("nothing was started: add --yes to start it")
        again = _again(
            work,
            run=run,
            missing=missing,
            max=max_,
            target=target,
            launcher=launcher,
            resume=resume,
            overwrite=overwrite,
            env=env,
            supervise=supervise,
            requeue=requeue,
            repair=repair,
        )
        if stopped is not None:
            warnings.append("; ".join((stopped.says.partition(";")[0], *stopped.ask)))
            again = stopped.command or again
        return Report(verb="launch", mode=settled, result=say("{n} to start: {first}", n=len(todo), first=", ".join(one.run.id for one in todo[:3])),
                      body=body, explanation=starting.tested(space, todo, arrays.script(space, todo) if array else None, environment) or why, action=again,
                      warnings=tuple(warnings), data={"runs": plain, "started": False})  # fmt: skip
    if array:
        return arrays.submit(space, todo, environment, settled, warnings)
    return _go(space, todo, environment, settled, warnings, policy=policy, overwrite=overwrite, more=passthrough)


def _prepared(
    space: Workspace, cell: Run, environment: Environment | None, *, target: str | None, launcher: str | None, resume: bool, overwrite: bool, more: Sequence[str],
    shown: list[str] | None = None,
) -> Ready:  # fmt: skip
    """One cell with its command; refused where it runs already, is done, or would be mixed with an earlier attempt."""
    from papertrain.core.errors import Refused
    from papertrain.core.workspace import has_checkpoint
    from papertrain.verbs.launching import starting

    place = space.run_path(cell.id)
    if cell.state == "running":
        raise Refused(
            f"{cell.id} is running ({cell.because})",
            code="running",
            file=place,
            command=line("papertrain", "watch", place),
        )
    if cell.state in ("done", "stale") and not overwrite:
        again = line("papertrain", "launch", space.root, "--run", cell.id, "--overwrite", "--yes")
        raise Refused(
            f"{cell.id} is done" if cell.state == "done" else f"{cell.id} is stale: {cell.because}",
            code="done",
            file=place,
            ask=["--overwrite sets the finished run aside and starts anew"],
            command=again if cell.state == "stale" else _scoring(space, cell.id),
        )
    one = starting.ready(
        space,
        cell,
        environment,
        target=target,
        launcher=launcher,
        resume=resume and has_checkpoint(place),
        more=more,
    )
    if cell.state in ("failed", "interrupted") and not resume and not overwrite and has_checkpoint(place):
        raise Refused(
            f"{cell.id} left checkpoints behind ({cell.because})", code="has-checkpoints", file=place,
            ask=["--resume goes on from the last one", "--overwrite sets them aside and starts anew"], command=line("papertrain", "launch", space.root, "--run", cell.id, "--resume", "--yes"),
        )  # fmt: skip
    why = starting.launchers()[one.launcher].ready(_place(space, one, environment))
    if why is not None and shown is not None:
        shown.append(why)
    elif why is not None:
        raise Refused(
            why,
            code="no-launcher",
            ask=["--launcher local starts it here", "or name a training environment with --env"],
        )
    return one


def _place(space: Workspace, one: Ready, environment: Environment | None) -> Any:
    from papertrain.run.launcher import Place
    from papertrain.verbs.launching import starting

    return Place(
        root=space.root, python=starting.python_of(environment), search=starting.search(environment), run=one.run.id
    )


def _stale(space: Workspace, chosen: Sequence[Run], mode: Mode) -> list[str]:
    """Config files of an older plan: a warning, a refusal in standard mode."""
    from papertrain.core.errors import Refused

    made, found = space.state("generated.json"), []
    for method in dict.fromkeys(c.method for c in chosen):
        if space.plan_path(method).is_file() and method in made and made[method] != space.plan_digest(method):
            text = say("the plan of {method} changed after its files were written", method=method)
            if mode == "standard":
                raise Refused(
                    text,
                    code="stale",
                    file=space.root / "configs" / method,
                    command=line("papertrain", "generate", space.root),
                )
            found.append(text + ": " + line("papertrain", "generate", space.root))
    return found


def _too_large(space: Workspace, chosen: Sequence[Run]) -> list[str]:
    from papertrain.core.ways import too_large

    study = space.study
    methods = dict.fromkeys(c.method for c in chosen if study.method(c.method).kind == "train")
    return [large for m in methods if (large := too_large(space.plan(m)))]


def _unscored(space: Workspace, chosen: Sequence[Run]) -> list[str]:
    """Trainings that will leave nothing to score, since nothing names what they should predict."""
    study = space.study
    lacking = [c.data for c in chosen if study.method(c.method).kind == "train" and not study.data(c.data).test]
    return [say("the study names no test set for {data}, so there will be no result to score: `papertrain plan WORK --test FILE` adds one", data=d) for d in dict.fromkeys(lacking)]  # fmt: skip


def _preflight(space: Workspace, todo: Sequence[Ready], mode: Mode) -> list[str]:
    """`check` on the files that will be read: an error is a warning here, a refusal in standard mode."""
    from papertrain.core.errors import Refused
    from papertrain.verbs.check import check

    files = sorted(
        {
            space.root / f
            for one in todo
            for f in one.files
            if f.endswith(("train.yaml", "sft.yaml", "dpo.yaml")) and one.target != "command"
        }
    )
    if not files:
        return []
    errors = [f for f in check(files).data.get("findings", []) if f.get("level") == "error"]
    told = [
        say("check {rule}: {says} ({file}:{line})", rule=f["rule"], says=f["says"], file=f["file"], line=f["line"])
        for f in errors[:5]
    ]
    if errors and mode == "standard":
        raise Refused(
            say("check finds {n} errors: {first}", n=len(errors), first=told[0]),
            code="check-failed",
            file=files[0],
            command=line("papertrain", "check", files[0]),
        )
    return told


def _asked(body: str) -> bool:
    """A person at a terminal is asked; anyone else is not."""
    import sys

    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    sys.stderr.write(body + "\n" + say("start? [y/N] "))
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _again(work: Path, **options: object) -> str:
    """The same command with --yes."""
    words: list[object] = ["papertrain", "launch", work]
    for name, value in options.items():
        words += [] if value in (None, False) else [f"--{name}"] if value is True else [f"--{name}", value]
    return line(*words, "--yes")


def _plain(one: Ready) -> dict[str, Any]:
    return {
        "run": one.run.id, "state": one.run.state, "target": one.target, "launcher": one.launcher, "argv": list(one.start.words),
        "environment": {v.name: v.value for v in one.start.environment}, "files": list(one.files), "data": list(one.data), "script": one.start.script or None,
    }  # fmt: skip


def _go(
    space: Workspace, todo: Sequence[Ready], environment: Environment | None, mode: Mode, warnings: Sequence[str], *, policy: Policy | None, overwrite: bool,
    more: Sequence[str],
) -> Report:  # fmt: skip
    """Start them one after another; the first that fails stops the rest."""
    from papertrain.core.files import held
    from papertrain.core.progress import bar
    from papertrain.verbs.launching import starting, supervision

    records: list[dict[str, Any]] = []
    aside = []
    for one in todo:
        with held(space.root, one.run.id):
            _unchanged(space, one)
            if not one.resume and (one.run.state != "missing" or overwrite):
                moved = starting.set_aside(space, one.run.id)
                aside += [moved] if moved else []
            with bar(one.run.id) as advance:
                if policy is None:
                    record = starting.started(space, one, environment, advance)
                else:
                    record = supervision.supervised(space, one, environment, advance, policy, mode, more)
        records.append(record)
        if record["exit_code"] not in (0, None) or supervision.failed(record):
            break
    return _told(
        space, todo, records, mode, [*warnings, *(say("an earlier attempt lies in {folder}", folder=a) for a in aside)]
    )


def _unchanged(space: Workspace, one: Ready) -> None:
    """What was decided for the run as it stood is not done to another state of it."""
    from papertrain.core.errors import Refused

    now = next((r.state for r in space.grid() if r.id == one.run.id), one.run.state)
    if now != one.run.state:
        raise Refused(
            f"{one.run.id} is {now} now, it was {one.run.state} when this began: another papertrain was quicker",
            code="changed-meanwhile",
            file=space.run_path(one.run.id),
            command=line("papertrain", "status", space.root),
        )


def _scoring(space: Workspace, run: str) -> str:
    """What follows a finished run: its score, or what it lacks for one."""
    from papertrain.evidence.checklist import scorable
    from papertrain.evidence.test_set import unpredicted

    ended = next((r for r in space.grid() if r.id == run), None)
    silent = ended is not None and unpredicted(space, ended) and space.study.method(ended.method).kind == "train"
    return scorable(space, ended) if silent and ended is not None else line("papertrain", "evaluate", space.root)


def _told(
    space: Workspace, todo: Sequence[Ready], records: Sequence[dict[str, Any]], mode: Mode, warnings: Sequence[str]
) -> Report:
    from papertrain.core.units import show_seconds
    from papertrain.evidence.checklist import launching
    from papertrain.verbs.launching import supervision

    lines = []
    for r in records:
        if r.get("job") and r.get("exit_code") is None:
            lines.append("  " + say("{run} submitted as job {job}", run=r["run"], job=r["job"]))
            continue
        measured = ", ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in r["last"].items())
        lines.append(
            "  "
            + say(
                "{run} ended with exit code {code} after {time}",
                run=r["run"],
                code=r["exit_code"],
                time=show_seconds(r["seconds"]),
            )
            + (f": {measured}" if measured else "")
        )
    last = records[-1]
    lines += supervision.shown(last)
    place, code = space.run_path(last["run"]), last["exit_code"]
    left = len(todo) - len(records)
    level: Level = "ok"
    if supervision.failed(last) and not last["stopped_by"]:
        result, why, action = supervision.told(space, last)
        level = "error"
    elif last.get("job") and last.get("exit_code") is None:
        result, why, action = (
            say("{n} submitted", n=len(records)),
            say("the scheduler keeps the run; its log is in {log}", log=place / "stdout.log"),
            line("papertrain", "watch", place),
        )
    elif code == 0:
        result = say("{n} of {all} finished", n=len(records), all=len(todo))
        why, action = (
            say("each has its record.json: command, versions, digests, exit code"),
            _scoring(space, last["run"]),
        )
    elif last["stopped_by"]:
        result = say(
            "{run} was stopped by {signal}, exit code {code}", run=last["run"], signal=last["stopped_by"], code=code
        )
        why, action, level = (
            say("the training was told, and ended by itself")
            if code != KILLED
            else say("the training was told, did not end, and was killed"),
            launching(space, next((r for r in space.grid() if r.id == last["run"]), None)),
            "error",
        )
    else:
        result = say("{run} failed with exit code {code}", run=last["run"], code=code) + (
            say("; {n} not started", n=left) if left else ""
        )
        why, action, level = (
            say("its output is in {log}", log=place / "stdout.log"),
            line("papertrain", "diagnose", place),
            "error",
        )
    return Report(verb="launch", mode=mode, result=result, body="\n".join(lines), explanation=why, action=action, warnings=tuple(warnings), level=level,
                  data={"runs": list(records), "started": True, "not_started": [one.run.id for one in todo[len(records):]],
                        "interrupted": last["stopped_by"] == "SIGINT"})  # fmt: skip
