"""`diagnose`: why did it fail, or why is it bad."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from papertrain.core.commands import quoted
from papertrain.core.params import Arg, EnvArg, ModeArg
from papertrain.core.report import Report
from papertrain.core.sentences import translated
from papertrain.core.texts import say
from papertrain.core.wide import padded

if TYPE_CHECKING:
    from papertrain.core.findings import Diagnosis
    from papertrain.core.values import Mode
    from papertrain.verbs.diagnosing.cases import Look


SAVED = Path("train.log")


def diagnose(
    paths: Annotated[Sequence[Path], Arg("logs, a run's folder or a workspace; - is standard input", "PATH")],
    *,
    config: Annotated[
        Sequence[Path], Arg("configs of the run: YAML, DeepSpeed JSON, script, start command", "FILE")
    ] = (),
    plan: Annotated[Path | None, Arg("the run's plan.json, or its workspace", "FILE")] = None,
    env: EnvArg = None,
    mode: ModeArg = None,
) -> Report:
    """Say why a run failed, or why its result is bad: the cause, its lines, and the change that mends it.

    The best candidate comes first; `because` quotes lines of the log, `not` says what was ruled out, `check` is the
    cheapest test that decides. A fix marked `experiment` changes what is trained; the others only how it is run.
    Exit code 0: a cause was found, or nothing failed. 1: it failed, and the reason is not known here.

      papertrain diagnose train.log --config ds_z2.json
      papertrain diagnose work/runs/ours.reviews.1
      ssh node cat train.log | papertrain diagnose -
    """
    from msgspec.structs import replace

    from papertrain.core.errors import PapertrainError
    from papertrain.core.gate import decide_mode
    from papertrain.diagnose.answer import as_json, diagnoses
    from papertrain.verbs._next import filled
    from papertrain.verbs.diagnosing.cases import look_at

    if not paths:
        raise PapertrainError("name a log, a run's folder, or - for standard input", code="missing-argument",
                              command="papertrain diagnose train.log")  # fmt: skip
    seen = look_at(paths, config, plan, env)
    work = str(seen.work.root) if seen.work else ""
    data_files = [name for name, _ in seen.case.data]
    found = [
        replace(d, next_check=filled(d.next_check, paths, config, data_files))
        for d in diagnoses(seen.answer, seen.case, work)
    ]
    unkept = remember(seen, found) if seen.work is not None and found and not found[0].benign else ""
    decided: Mode = decide_mode(mode, seen.work.root if seen.work else None)
    if found and not found[0].benign:
        answer = cause_found(found, seen, paths, config, plan, env, decided)
        return replace(answer, warnings=(*answer.warnings, unkept)) if unkept else answer
    data: dict[str, Any] = {"diagnoses": [as_json(d) for d in found], "unexplained": ""}
    if seen.answer.failed:
        return unexplained(seen, data, decided, paths)
    if seen.answer.unjudged:
        return unjudged(seen, data, decided, paths)
    return no_failure(seen, found, data, decided, paths)


def unjudged(seen: Look, data: dict[str, Any], mode: Mode, paths: Sequence[Path]) -> Report:
    """No log, or one that says nothing: neither a failure nor its absence."""
    from papertrain.verbs._next import judge_otherwise

    names = ", ".join(Path(log.name).name for log in seen.case.logs[:3]) or say("the input")
    why = say("nothing here can be judged: {why}", why=seen.answer.unjudged)
    step = say(
        "give what the program printed, standard error included: command > train.log 2>&1; {names} is no such log",
        names=names,
    )
    data["unexplained"] = f"{why}. {step}"
    return Report(
        verb="diagnose",
        mode=mode,
        result=why,
        explanation=step,
        action=judge_otherwise(paths),
        data=data,
        level="error",
    )


def remember(seen: Look, found: Sequence[Diagnosis]) -> str:
    """In a workspace: `runs/<run>/debug/<n>.json`, from which `fix` finds its patch again. The same answer is kept once.

    Returns what stood in the way; an answer is given all the same.
    """
    import json

    from papertrain.core.errors import PapertrainError, of_system
    from papertrain.core.files import read_text
    from papertrain.core.writing import Writer
    from papertrain.diagnose.answer import as_json

    if seen.work is None or not seen.run:
        return ""
    folder = seen.work.run_path(seen.run) / "debug"
    text = json.dumps({"diagnoses": [as_json(d) for d in found]}, indent=1, ensure_ascii=False) + "\n"
    known = sorted((p for p in folder.glob("*.json") if p.stem.isdigit()), key=lambda p: int(p.stem))
    try:
        if known and read_text(known[-1], what="record") == text:
            return ""
        with Writer(seen.work.root) as w:
            w.text(f"runs/{seen.run}/debug/{int(known[-1].stem) + 1 if known else 1}.json", text)
    except PapertrainError as error:
        why = error.one_line()
    except OSError as error:
        why = of_system(error).one_line()
    else:
        return ""
    return say("this diagnosis was not kept, so `fix` will not find it: {why}", why=why)


def fix_command(
    seen: Look, target: str, id: str, paths: Sequence[Path], config: Sequence[Path], plan: Path | None, env: str | None
) -> str:
    """The command that shows the fix: made from the same files as the diagnosis. Standard input must be kept first."""
    if seen.work:
        return f"papertrain fix {quoted(paths[0])} {id}"
    logs = [SAVED if str(p) == "-" else p for p in paths]
    first = Path(target) if target else logs[0]
    words = [] if [first] == logs else [w for p in logs for w in ("--log", quoted(p))]
    words += [w for c in config if str(c) != str(first) for w in ("--config", quoted(c))]
    words += [*(["--plan", quoted(plan)] if plan else []), *(["--env", quoted(env)] if env else [])]
    return " ".join(["papertrain fix", quoted(first), id, *words])


def cause_found(
    found: Sequence[Diagnosis],
    seen: Look,
    paths: Sequence[Path],
    config: Sequence[Path],
    plan: Path | None,
    env: str | None,
    mode: Mode,
) -> Report:
    from papertrain.diagnose.answer import as_json, body, fix_lines
    from papertrain.verbs._next import fallback, runnable

    best = found[0]
    evidence = f"  {best.evidence[0].file}:{best.evidence[0].line}" if best.evidence else ""
    result = say(
        "{id}  {title} ({cls}, {confidence}){where}",
        id=best.id,
        title=translated(best.title),
        cls=best.cls,
        confidence=f"{best.confidence:.2f}",
        where=evidence,
    )
    action, fixes_text = runnable(best.next_check, paths) or fallback(best.cls), ""
    if best.fixes:
        first = next((f for f in best.fixes if f.patch or f.edits), best.fixes[0])
        target = first.edits[0].file if first.edits else str(config[0]) if config else ""
        effect = (
            say("execution only: results stay comparable")
            if first.effect == "execution"
            else say("changes the experiment")
        )
        action = fix_command(seen, target, first.id, paths, config, plan, env) if first.edits or first.patch else action
        fixes_text = f"  {padded(say('fix'), 8)}  {first.id} {translated(first.title)} ({effect})\n" + "\n".join(
            f"            {x}" for x in fix_lines(first).splitlines()
        )
    explanation = translated(best.cause)
    if any(str(p) == "-" for p in paths) and action.startswith("papertrain fix"):
        explanation += " " + say("Keep the log as {name} first: the fix is made from it again.", name=SAVED)
    every = "\n".join(
        f"{f.id}  [{f.effect}]  {translated(f.title)}\n"
        + "\n".join(f"      {x}" for x in fix_lines(f).splitlines())
        + (f"\n      {say('to be seen')}: {translated(f.proof)}" if f.proof else "")
        for d in found
        for f in d.fixes
    )
    return Report(verb="diagnose", mode=mode, result=result, explanation=explanation, action=action, body=body(found, fix=fixes_text),
                  details=every, data={"diagnoses": [as_json(d) for d in found], "unexplained": ""}, warnings=other_run(seen), unavailable=missing(seen))  # fmt: skip


def unexplained(seen: Look, data: dict[str, Any], mode: Mode, paths: Sequence[Path]) -> Report:
    """An honest unknown: the three most suspicious lines, and what to run next."""
    from papertrain.diagnose.answer import place
    from papertrain.verbs._next import look_closer
    from papertrain.verbs.diagnosing import own

    why = say("it failed ({failed}), and no known cause fits", failed=seen.answer.failed)
    lines = seen.answer.suspicious
    body = "\n".join(
        f"  {padded(say('look at') if i == 0 else '', 8)}  {e.text[:70]:70}  {place(e)}" for i, e in enumerate(lines)
    )
    step = say(
        "run it once more with CUDA_LAUNCH_BLOCKING=1 TORCH_DISTRIBUTED_DEBUG=DETAIL, keep every rank's output, and diagnose that"
    )
    action = look_closer(paths)
    if (told := own.error_of(seen.case)) is not None:
        error, at = told
        why = say("{kind} at {place}, and no known cause fits", kind=own.kind(error), place=own.place(at))
        step = own.where(at) + "; " + own.means(error, at)
        action = own.look_there(at) or action
    data["unexplained"] = f"{why}. " + " | ".join(f"{e.file}:{e.line}: {e.text}" for e in lines) + f". {step}"
    data["suspicious"] = [{"file": e.file, "line": e.line, "text": e.text} for e in lines]
    return Report(verb="diagnose", mode=mode, result=say("unknown: {why}", why=why), explanation=step, action=action, body=body, data=data, level="error",
                  unavailable=missing(seen))  # fmt: skip


def no_failure(
    seen: Look, found: Sequence[Diagnosis], data: dict[str, Any], mode: Mode, paths: Sequence[Path]
) -> Report:
    from papertrain.diagnose.answer import body

    if seen.answer.stops:
        data["stops"] = seen.answer.stops
        where = [p for p in paths if str(p) != "-"]
        return Report(
            verb="diagnose",
            mode=mode,
            result=say("no failure found, but {stops}", stops=seen.answer.stops),
            explanation=say(
                "the run goes on, hangs, or was ended from outside; so far {because}",
                because=translated(seen.answer.healthy),
            ),
            action=f"papertrain watch {quoted(where[0]) if where else '--help'}",
            body=body(found),
            data=data | {"healthy": seen.answer.healthy},
        )
    named = next((p for p in paths if str(p) != "-"), None)
    if found:
        because = say("{title}: {cause}", title=translated(found[0].title), cause=translated(found[0].cause))
        if seen.answer.healthy:
            because = f"{translated(seen.answer.healthy)}; {because}"
    else:
        because = translated(seen.answer.healthy)
    data["healthy"] = seen.answer.healthy
    return Report(verb="diagnose", mode=mode, result=say("no failure found"), explanation=say("no failure, because {because}", because=because),
                  action=f"papertrain watch {'--help' if named is None else quoted(named)}",
                  body=body(found), data=data)  # fmt: skip


def other_run(seen: Look) -> tuple[str, ...]:
    """One line where the log and the config cannot be of the same run."""
    from papertrain.diagnose.present import disagreements

    told = list(disagreements(seen.case))
    if not told:
        return ()
    return (
        say(
            "log and config are not of the same run: {told}; a change of the learning rate starts from the log's, any other from the config's",
            told="; ".join(told),
        ),
    )


def missing(seen: Look) -> tuple[str, ...]:
    """One line about versions that nobody told."""
    if any(k.startswith("version:") for k in seen.case.facts.found):
        return ()
    return (
        say(
            "versions of the training environment: not in the log; --env PATH reads them, and rules bound to versions count them"
        ),
    )
