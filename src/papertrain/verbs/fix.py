"""`fix`: apply a change that `diagnose` or `check` proposed, and prove it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from papertrain.core.commands import quoted
from papertrain.core.params import Arg, DryRunArg, EnvArg, ModeArg
from papertrain.core.report import Report
from papertrain.core.sentences import translated
from papertrain.core.texts import say

if TYPE_CHECKING:
    from papertrain.core.values import Mode
    from papertrain.core.workspace import Workspace


def fix(
    target: Annotated[Path, Arg("the file to change, or the workspace (or run) that was diagnosed", "WORK|FILE")],
    id: Annotated[str, Arg("the fix: D1.F1 of diagnose, or F-… of check", "ID")],
    *,
    log: Annotated[Sequence[Path], Arg("for a loose file: the log that was diagnosed", "FILE")] = (),
    config: Annotated[Sequence[Path], Arg("further configs that were given to diagnose", "FILE")] = (),
    plan: Annotated[Path | None, Arg("the run's plan, as given to diagnose", "FILE")] = None,
    yes: Annotated[bool, Arg("apply it; without it the change is only shown")] = False,
    try_: Annotated[bool, Arg("after applying: really run a few steps")] = False,
    env: EnvArg = None,
    mode: ModeArg = None,
    dry_run: DryRunArg = False,
) -> Report:
    """Apply a change that diagnose or check proposed, keep the way back, and prove it.

    Without --yes, and with --dry-run, the difference is shown and nothing is written. A file that has changed since is refused. Changes marked
    `experiment` wait for a confirmed plan in standard mode. The way back is a patch beside the notes in debug/.

      papertrain fix ds_z2.json D1.F1 --log train.log            show it
      papertrain fix ds_z2.json D1.F1 --log train.log --yes      apply it
      papertrain fix work D1.F2 --yes --try
      papertrain fix sft.yaml F-TR211-1a2b3c4d --yes
    """
    from papertrain.core.errors import PapertrainError
    from papertrain.core.gate import decide_mode
    from papertrain.core.writing import only_reading

    if str(target) != "-" and not Path(target).exists():
        raise PapertrainError("no such file or folder", code="missing-file", file=target)
    if dry_run:
        yes = try_ = False
    with only_reading() if dry_run else nullcontext():
        if id.upper().startswith("F-"):
            return fix_finding(Path(target), id, yes=yes, mode=decide_mode(mode, Path(target)))
        return fix_diagnosis(Path(target), id, log, config, plan, env, yes=yes, try_=try_, mode=mode)


def fix_finding(target: Path, id: str, *, yes: bool, mode: Mode) -> Report:
    """A finding of `check`: its patch, for the file as it is now."""
    from papertrain.core.errors import PapertrainError, nearest
    from papertrain.verbs.check import check
    from papertrain.verbs.fixing import applying

    findings: list[dict[str, Any]] = check([target]).data["findings"]
    found = next((f for f in findings if f["id"] == id), None)
    if found is None:
        raise PapertrainError(f"no finding {id} in {target.name}", code="unknown-fix", nearest=nearest(id, [f["id"] for f in findings]),
                              command=f"papertrain check {quoted(target)}")  # fmt: skip
    if not found.get("patch"):
        raise PapertrainError(
            f"{id} has no patch: {found.get('instead') or found['says']}",
            code="no-patch",
            file=found["file"],
            line=found["line"],
        )
    files = [(a["file"], a["sha256"]) for a in found.get("applies_to", [])] or [(str(target), "")]
    texts = applying.after(files, found["patch"])
    if not texts:
        raise applying.changed(target)
    data: dict[str, Any] = {
        "id": id,
        "effect": found["effect"],
        "patch": found["patch"],
        "edits": [],
        "commands": [],
        "files": list(texts),
    }
    if not yes:
        return shown(
            data,
            say("{id} would change {files}", id=id, files=_names(texts)),
            found["says"],
            f"papertrain fix {quoted(target)} {quoted(id)} --yes",
            mode,
        )
    note = applying.note_text(id, found["name"], found["says"], found["effect"], (), (), found["patch"], "")
    reverse = applying.write(texts, _debug(target), note)
    proof = applying.checked_again([Path(p) for p in texts])
    return applied(
        data,
        say("{id} applied to {files}", id=id, files=_names(texts)),
        proof,
        reverse,
        f"papertrain check {quoted(target)}",
        mode,
    )


def fix_diagnosis(target: Path, id: str, log: Sequence[Path], config: Sequence[Path], plan: Path | None, env: str | None,
                  *, yes: bool, try_: bool, mode: Mode | None) -> Report:  # fmt: skip
    from papertrain.core.errors import PapertrainError, Refused
    from papertrain.core.gate import decide_mode, require_confirmed
    from papertrain.verbs._next import fallback, runnable
    from papertrain.verbs.diagnosing.cases import method_of, workspace_of
    from papertrain.verbs.fixing import applying, proofs

    id, _, digest = id.partition("@")
    work, run = workspace_of([target]) if target.is_dir() else (None, "")
    decided = decide_mode(mode, work.root if work else None)
    if try_ and not yes:
        raise PapertrainError("--try runs steps after the change: add --yes", code="try-needs-yes")
    if work is None and (note := applying.already(target.parent, id, target)) is not None:
        raise Refused(
            f"{id} is applied to {target.name} already: {note}",
            code="already-applied",
            file=target,
            command=f"patch -p1 < {quoted(note.with_suffix('.patch'))}",
        )
    diagnosis, chosen, stored = stored_fix(work, run, id) if work else derived_fix(target, id, log, config, plan, env)
    if digest and not any(str(a["sha256"]).startswith(digest) for a in chosen["applies_to"]):
        raise applying.changed(target)
    method = (run.partition(".")[0] if run else "") or (method_of(work) if work else "")
    if chosen["effect"] == "experiment" and work is not None:
        require_confirmed(work, method, decided, say("fix {id} changes the experiment: it", id=id))
    texts = applying.after([(a["file"], a["sha256"]) for a in chosen["applies_to"]], chosen["patch"] or "")
    data: dict[str, Any] = {
        "id": id,
        "class": diagnosis["class"],
        "applied": False,
        "files": list(texts),
        **{k: chosen[k] for k in ("effect", "patch", "edits", "commands")},
    }
    says = say(
        "{id}: {title} ({effect})", id=id, title=translated(chosen["title"]), effect=translated(chosen["effect"])
    )
    if not chosen["edits"] and not texts:
        return shown(
            data,
            say("{says}: nothing that can be patched here", says=says),
            "\n".join(chosen["commands"]) or say("{title}: by hand", title=translated(chosen["title"])),
            next((c for x in chosen["commands"] if (c := runnable(x))), None) or fallback(diagnosis["class"]),
            decided,
        )
    if not yes:
        more = "".join(f" --log {quoted(p)}" for p in log) + "".join(f" --config {quoted(c)}" for c in config)
        more += (f" --plan {quoted(plan)}" if plan else "") + (f" --env {quoted(env)}" if env else "")
        return shown(
            data,
            say("{says} would change {files}", says=says, files=_names(texts) or "plan.json"),
            translated(diagnosis["cause"]),
            f"papertrain fix {quoted(target)} {quoted(id)}{more} --yes",
            decided,
        )
    evidence = [f"{e['file']}:{e['line']}: {e['text']}" for e in diagnosis["evidence"]]
    debug = f"runs/{run}/debug/{stored}" if work else _debug(target)
    if work is not None and not texts:
        return on_plan(work, method, run, debug, diagnosis, chosen, data, evidence, try_=try_, mode=decided, env=env)
    text = applying.note_text(
        id,
        chosen["title"],
        diagnosis["cause"],
        chosen["effect"],
        evidence,
        _changes(chosen),
        chosen["patch"] or "",
        chosen["proof"],
    )
    reverse = applying.write(texts, debug, text, work.root if work else None)
    changed = [Path(p) for p in texts]
    environment = proofs.environment_near(changed[0], env)
    proof = "; ".join([applying.checked_again(changed), *proofs.parsed(changed, environment)])
    if try_:
        proof += "; " + _try(work, run, changed, environment, env, decided)
    note = Path(reverse).with_suffix(".md")
    applying.noted(note, note.parents[len(Path(debug).parts) - 1], "Proved", proof)
    return applied(
        data,
        say("{says} applied to {files}", says=says, files=_names(texts)),
        proof + (f"; {say('to be seen when it runs')}: {translated(chosen['proof'])}" if chosen["proof"] else ""),
        reverse,
        f"papertrain launch {quoted(work.root)} --run {quoted(run)} --yes"
        if work and run
        else "papertrain check " + " ".join(quoted(Path(p)) for p in texts),
        decided,
    )


def _try(
    work: Workspace | None, run: str, changed: Sequence[Path], environment: Any, env: str | None, mode: Mode
) -> str:
    """A few real steps: of the workspace's run, else of what the changed file itself starts."""
    from papertrain.core.errors import PapertrainError
    from papertrain.verbs.fixing import proofs

    try:
        if work is not None and work.study.method(run.partition(".")[0]).kind == "train":
            from papertrain.verbs.launching import cells, here, smoke_run

            (cell,) = cells.cells(work, run, False, None, False)
            found = here.environment_of(work, env)
            return say("tried: {said}", said=smoke_run.smoke(work, cell, found, mode, target=None, start=True).result)
        return proofs.tried(changed[0], environment)
    except PapertrainError as error:
        return say("not tried: {why}", why=error.one_line())


def stored_fix(work: Workspace, run: str, id: str) -> tuple[dict[str, Any], dict[str, Any], str]:
    """The fix as it was proposed, from the newest `runs/<run>/debug/<n>.json` that has it."""
    import json

    from papertrain.core.errors import PapertrainError, nearest
    from papertrain.core.files import read_text
    from papertrain.verbs.diagnose import diagnose

    folder = work.run_path(run) / "debug"
    known: list[str] = []
    if not any(folder.glob("*.json")):
        report = diagnose([work.run_path(run) if run else work.root])
        # Where nothing can be written, the fix can still be shown.
        for d in report.data["diagnoses"]:
            known += [f["id"] for f in d["fixes"]]
            if (here := next((f for f in d["fixes"] if f["id"] == id), None)) is not None:
                return d, here, "1"
    for file in sorted((p for p in folder.glob("*.json") if p.stem.isdigit()), key=lambda p: -int(p.stem))[:1]:
        text = read_text(file, what="record")
        try:
            found = json.loads(text)["diagnoses"]
            pairs = [(d, f) for d in found for f in d["fixes"]]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise PapertrainError("this record cannot be read: diagnose again", code="bad-record", file=file) from None
        known = [f["id"] for _, f in pairs]
        for d, f in pairs:
            if f["id"] == id:
                return d, f, file.stem
    raise PapertrainError(f"no fix {id} was proposed here" + (f" (there are {', '.join(known)})" if known else ""), code="unknown-fix", nearest=nearest(id, known),
                          command=f"papertrain diagnose {quoted(work.root)}")  # fmt: skip


def derived_fix(
    target: Path, id: str, log: Sequence[Path], config: Sequence[Path], plan: Path | None, env: str | None
) -> tuple[dict[str, Any], dict[str, Any], str]:
    """For loose files the diagnosis is made again, from the same log and configs."""
    from papertrain.core.errors import PapertrainError, nearest
    from papertrain.core.files import regular_file
    from papertrain.diagnose.answer import as_json, diagnoses
    from papertrain.verbs.diagnosing.cases import look_at

    if log and str(target) != "-" and not target.is_dir():
        regular_file(target)
    logs = list(log) or ([target] if target.is_dir() or not config else [])
    if not log and target.is_file() and target.suffix.lower() in (".json", ".yaml", ".yml", ".py", ".sh"):
        raise PapertrainError(f"which log? {id} is a fix of a diagnosis", code="missing-log", file=target, ask=["--log FILE: the log that was diagnosed"],
                              command=f"papertrain fix {quoted(target)} {quoted(id)} --log train.log")  # fmt: skip
    files = [target] if log and target.is_file() and target not in logs else []
    seen = look_at(logs, [*files, *(c for c in config if Path(c) != target)], plan, env)
    found = [as_json(d) for d in diagnoses(seen.answer, seen.case)]
    known = [f["id"] for d in found for f in d["fixes"]]
    for d in found:
        for f in d["fixes"]:
            if f["id"] == id:
                return d, f, ""
    raise PapertrainError(f"no fix {id} for this log" + (f" (there are {', '.join(known)})" if known else ""), code="unknown-fix", nearest=nearest(id, known),
                          command="papertrain diagnose " + " ".join(map(quoted, logs)))  # fmt: skip


def on_plan(work: Workspace, method: str, run: str, debug: str, diagnosis: dict[str, Any], chosen: dict[str, Any], data: dict[str, Any],
            evidence: Sequence[str], *, try_: bool, mode: Mode, env: str | None = None) -> Report:  # fmt: skip
    """A knob of the plan: derive again, rewrite the files, and say what the planner says now."""
    from papertrain.core.files import read_text, unified
    from papertrain.core.writing import Writer
    from papertrain.verbs.fixing import applying
    from papertrain.verbs.generate import generate
    from papertrain.verbs.plan import plan

    file = work.plan_path(method)
    old = read_text(file, what="plan")
    for a in chosen["applies_to"]:
        applying.after([(a["file"], a["sha256"])], "")
    sets = applying.sets_of(chosen["edits"])
    planned = plan(str(work.root), sets=sets, name=method, mode=mode)
    written = generate(work.root, mode=mode) if any((work.root / "configs" / method).glob("*")) else None
    new = read_text(file, what="plan")
    proof = say("planned again: {said}", said=planned.result)
    if written is not None:
        proof += say("; files: {said}", said=written.result)
    if try_:
        proof += "; " + _try(work, run, [file], None, env, mode)
    note = applying.note_text(
        data["id"],
        chosen["title"],
        diagnosis["cause"],
        chosen["effect"],
        evidence,
        _changes(chosen),
        unified(old, new, file.name)[:20000],
        chosen["proof"],
    )
    note += f"\n## Proved\n\n{proof}\n"
    with Writer(work.root) as w:
        w.text(f"{debug}.patch", unified(new, old, f"plans/{method}/plan.json"))
        w.text(f"{debug}.md", note)
    says = say("{id} applied: {sets}", id=data["id"], sets=", ".join(sets))
    return applied(
        data,
        says,
        proof,
        str(work.root / f"{debug}.patch"),
        f"papertrain launch {quoted(work.root)} --run {quoted(run)} --yes",
        mode,
    )


def shown(data: dict[str, Any], result: str, explanation: str, action: str | None, mode: Mode) -> Report:
    body = (
        data["patch"]
        or "\n".join(f"  {e['key']}: {e['old']} -> {e['new']}" for e in data["edits"])
        or "\n".join(data["commands"])
    )
    return Report(
        verb="fix",
        mode=mode,
        result=result,
        explanation=explanation or say("nothing was written"),
        action=action,
        body=body,
        data={**data, "applied": False},
    )


def applied(data: dict[str, Any], result: str, proof: str, reverse: str, action: str | None, mode: Mode) -> Report:
    return Report(verb="fix", mode=mode, result=result, explanation=say("{proof}. The way back: {reverse}", proof=proof, reverse=reverse), action=action,
                  body=data["patch"] or "", data={**data, "applied": True, "proof": proof, "reverse": reverse})  # fmt: skip


def _debug(target: Path) -> str:
    """Where the notes of a change to a loose file go: the next free number beside it."""
    folder = (target if target.is_dir() else target.parent) / ".papertrain" / "debug"
    used = [int(p.stem) for p in folder.glob("*.md") if p.stem.isdigit()]
    return f".papertrain/debug/{max(used, default=0) + 1}"


def _names(files: dict[str, tuple[str, str]]) -> str:
    return ", ".join(Path(p).name for p in files)


def _changes(chosen: dict[str, Any]) -> list[Any]:
    from papertrain.core.findings import Change

    return [Change(knob=e["key"], old=e["old"], new=e["new"], file=e["file"]) for e in chosen["edits"]]
