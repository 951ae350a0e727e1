"""launch: start the run, or all runs of the study that are missing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from papertrain.core.params import Arg, DryRunArg, EnvArg, ModeArg, OverwriteArg
from papertrain.core.report import Report
from papertrain.core.sentences import translated
from papertrain.core.texts import say

if TYPE_CHECKING:
    from papertrain.core.environment import Environment
    from papertrain.core.values import Mode
    from papertrain.core.workspace import Workspace
    from papertrain.verbs.launching.ready import Ready
    from papertrain.verbs.launching.supervision import Policy


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
    Ctrl-C and SIGTERM are passed on: the training saves a checkpoint and stops. A terminal that closes ends nothing: the
    run goes on, and its record is kept. In standard mode nothing starts before the plan is confirmed.

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
    from papertrain.verbs.launching import arrays, before, cells, here, showing, smoke_run, supervision, told

    policy = supervision.policy(supervise, requeue, repair, restarts)
    space = Workspace.open(work)
    settled = decide_mode(mode, space.root)
    chosen = cells.cells(space, run, missing, max_, overwrite)
    if not chosen:
        first = run or next((r.id for r in space.grid()), "")
        return Report(verb="launch", mode=settled, result=say("nothing to start: every run of the study is done"),
                      explanation=say("--run ID --overwrite starts one again"), action=told.scoring(space, first), data={"runs": [], "started": False})  # fmt: skip
    for cell in chosen:
        if space.study.method(cell.method).kind == "train":
            require_confirmed(space, cell.method, settled, say("launch of {run}", run=cell.id))
    environment = here.environment_of(space, env)
    if smoke:
        return smoke_run.smoke(space, chosen[0], environment, settled, target=target, start=yes and not dry_run)
    unready: list[str] = []
    todo = [
        cells.prepared(space, cell, environment, target=target, launcher=launcher, resume=resume, overwrite=overwrite, more=passthrough, shown=unready if dry_run else None)
        for cell in chosen
    ]  # fmt: skip
    array = arrays.script(space, todo) if policy is None and arrays.fits(todo) else None
    warnings = [
        *dict.fromkeys(unready),
        *before.too_few_cards(todo),
        *before.too_large(space, chosen),
        *before.unscored(space, chosen),
        *before.stale(space, chosen, settled),
        *before.preflight(space, todo, settled),
    ]
    body = showing.body(todo, environment, array)
    plain = [showing.plain(one) for one in todo]
    if env is not None and env != "auto":
        todo = [structs.replace(one, asked_environment=str(Path(env).absolute())) for one in todo]
    stopped = next((e for one in todo if (e := here.cannot_start(space, one, environment)) is not None), None)
    if stopped is None and launcher is None:
        stopped = before.without_cards(space, todo)
    if stopped is not None and yes and not dry_run:
        raise stopped
    if stopped is not None or dry_run or not (yes or showing.asked(body)):
        why = say("a dry run: nothing was started") if dry_run else say("nothing was started: add --yes to start it")
        again = showing.again(work, run=run, missing=missing, max=max_, target=target, launcher=launcher, resume=resume, overwrite=overwrite, env=env,
                              supervise=supervise, requeue=requeue, repair=repair)  # fmt: skip
        if stopped is not None:
            warnings = [w for w in warnings if w != stopped.says]
            brief = (
                translated(stopped.says).replace("；", ";").partition(";")[0]
            )  # that nothing was written is said already
            warnings.append("; ".join((brief, *map(translated, stopped.ask))))
            again = stopped.command or again
        return Report(verb="launch", mode=settled, result=say("{n} to start: {first}", n=len(todo), first=", ".join(one.run.id for one in todo[:3])),
                      body=body, explanation=showing.tested(space, todo, array, environment) or why, action=again,
                      warnings=tuple(warnings), data={"runs": plain, "started": False})  # fmt: skip
    if array is not None:
        return arrays.submit(space, todo, environment, settled, warnings)
    records, aside = _started(space, todo, environment, settled, policy, overwrite=overwrite, more=passthrough)
    warnings += [say("an earlier attempt lies in {folder}", folder=folder) for folder in aside]
    return told.told(space, todo, records, settled, warnings)


def _started(
    space: Workspace, todo: Sequence[Ready], environment: Environment | None, mode: Mode, policy: Policy | None, *, overwrite: bool, more: Sequence[str]
) -> tuple[list[dict[str, Any]], list[str]]:  # fmt: skip
    """Start them one after another; the first that fails stops the rest. (the records, what was set aside)."""
    from papertrain.core.progress import bar
    from papertrain.core.writing import held
    from papertrain.run.process import terminal_may_close
    from papertrain.verbs.launching import attempts, cells, starting, supervision

    records: list[dict[str, Any]] = []
    aside: list[str] = []
    for one in todo:
        with terminal_may_close(), held(space.root, one.run.id):
            cells.unchanged(space, one)
            if not one.resume and (one.run.state != "missing" or overwrite):
                moved = starting.set_aside(space, one.run.id)
                aside += [moved] if moved else []
            with bar(one.run.id) as advance:
                if policy is None:
                    record = starting.started(space, one, environment, advance)
                else:
                    record = supervision.supervised(space, one, environment, advance, policy, mode, more)
        records.append(record)
        if record["exit_code"] not in (0, None) or attempts.failed(record):
            break
    return records, aside
