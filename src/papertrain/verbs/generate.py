"""generate: the config files of each framework, the startup commands and the monitoring guide."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from papertrain.core.params import Arg, DryRunArg, ModeArg, OverwriteArg
from papertrain.core.report import Report

if TYPE_CHECKING:
    from papertrain.core.workspace import Workspace

ALLOWED = "allow_remote_code"


def generate(
    work: Annotated[Path, Arg("the workspace that `plan` made", "WORK")],
    *,
    target: Annotated[
        Sequence[str],
        Arg("only this framework (repeatable): llamafactory, deepspeed, script, accelerate, trl, axolotl", "NAME"),
    ] = (),
    out: Annotated[Path | None, Arg("where to write (default: the workspace)", "DIR", short="o", name="output")] = None,
    allow_remote_code: Annotated[
        Sequence[str],
        Arg("let this model's own code run, at this commit only (40 characters, repeatable)", "REPO@REVISION"),
    ] = (),
    mode: ModeArg = None,
    overwrite: OverwriteArg = False,
    dry_run: DryRunArg = False,
) -> Report:
    """Write each framework's files, the startup commands and the monitoring guide from the plan.

    Every line that the plan decided carries its reason. What a framework cannot say is listed, not dropped. The same plan
    gives the same bytes. Files that a person edited are left alone unless --overwrite is given; a plan that nobody has
    confirmed is marked in every file. Code out of a model's repository is never allowed to run (`trust_remote_code`),
    unless you name the repository and the commit that you have read.

      papertrain generate work                       everything that applies
      papertrain generate work --target llamafactory
      papertrain generate work --dry-run             show the exact text and write nothing
    """
    from papertrain.configs.generating import generate as make
    from papertrain.configs.generating import targets, unstartable
    from papertrain.core.commands import line, quoted
    from papertrain.core.errors import Refused
    from papertrain.core.files import sha256_text
    from papertrain.core.gate import decide_mode
    from papertrain.core.redact import holds_secret
    from papertrain.core.sentences import translated
    from papertrain.core.texts import say
    from papertrain.core.ways import too_large
    from papertrain.core.wide import padded
    from papertrain.core.workspace import Workspace
    from papertrain.core.writing import HIDDEN, Writer
    from papertrain.evidence.checklist import next_step
    from papertrain.evidence.lines import untrainable
    from papertrain.evidence.test_set import FILES, named_files
    from papertrain.plan.derive_refusals import copied
    from papertrain.verbs.launching.jobs import absent, allowed, jobs, runs_code, untold_template
    from papertrain.verbs.planning.by_hand import edited, refuse_impossible

    place = Workspace.open(work)
    root = out or place.root
    todo = allowed(jobs(place, root), allow_remote_code)
    for job in todo:
        refuse_impossible(place, job.plan)
    changed_plans = [job.name for job in todo if edited(place, job.name)]
    commands = {m.name: m.command for m in place.study.methods if m.kind == "command"}
    before = {(job.name, id) for job in todo for id in targets() if any((root / job.folder(id)).glob("*"))}
    made = make(todo, tuple(target), commands, lambda job, id: (job.name, id) in before)
    for name, text in made.files.items():
        if holds_secret(text):
            raise Refused(
                f"{name} would hold a secret: log in with the tool's own command instead", code="secret", file=name
            )
    with Writer(root, overwrite=overwrite, keep=True, dry_run=dry_run) as w:
        for name, text in made.files.items():
            w.text(name, text, executable=name.endswith(".sh"))
        if out is None:  # which plan the files were written from, so that a later change shows
            known = place.state("generated.json")
            # Files of another target that an older plan wrote stay stale until they are written too.
            left = {name for name, id in before if f"{name}/{id}" not in made.written}
            known |= {
                job.name: place.plan_digest(job.name) for job in todo if job.name not in left or job.name not in known
            }
            known |= {FILES: named_files(place.study)}
            known |= {ALLOWED: [f"{job.model}@{job.remote_code}" for job in todo if job.remote_code is not None]}
            w.text(f"{HIDDEN}/generated.json", json.dumps(known, indent=2, sort_keys=True) + "\n")
    w.changes = [c for c in w.changes if not c.path.startswith(HIDDEN)]
    unconfirmed = [job.name for job in todo if not job.confirmed]
    kept = [c.path for c in w.changes if c.kind == "kept"]
    changed = [c for c in w.changes if c.kind not in ("same", "kept")]
    body = "\n".join(f"  {padded(translated(c.kind), 8)} {c.path}" for c in w.changes)
    body += "".join(f"\n  {padded(say('not'), 8)} {s.method}/{s.target}: {translated(s.why)}" for s in made.skipped)
    result = say(
        "{n} files for {methods}, {new} of them new or changed",
        n=len(w.changes),
        methods=", ".join(j.name for j in todo),
        new=len(changed),
    )
    if dry_run:
        result = say(
            "{n} files would be written, {new} of them new or changed; nothing was written",
            n=len(w.changes),
            new=len(changed),
        )
        body += "\n\n" + "\n".join(c.diff for c in w.changes if c.kind != "same")
    because = say(
        "the reason of each value stands beside it; what a framework cannot say stands at the top of its file"
    )
    if unconfirmed:
        because = say(
            "unconfirmed: nobody has confirmed the plan of {methods}, and every file says so",
            methods=", ".join(unconfirmed),
        )
    settled = decide_mode(mode, place.root)
    own = [
        say("no program here can train {model}: its values stand in plans/{name}/plan.md, for a program of your own (kind = \"command\" in study.toml)", model=job.plan.model.name, name=job.name)
        for job in todo if unstartable(job)
    ]  # fmt: skip
    step = None if (dry_run and changed) or out is not None else next_step(place, settled)
    action = (
        line("papertrain", "status", work, "--confirm", "derive")
        if unconfirmed and settled == "standard"
        else line("papertrain", "generate", work, *(["--overwrite"] if overwrite else []))
        if dry_run and changed
        else step.next
        if step is not None and step.step > 3 and any(r.state != "missing" for r in place.grid())
        else line("cat", place.root / f"plans/{todo[0].name}/plan.md")
        if len(own) == len(todo)
        else line("papertrain", "launch", work, *(["--dry-run"] if untrainable(place) else []))
    )
    return Report(
        verb="generate",
        warnings=(*own, *([say("edited since papertrain wrote it, so left alone: {names}; --dry-run shows what the plan says there, --overwrite replaces it", names=", ".join(kept))] if kept else []), *(say("plans/{method}/plan.json was edited by hand: its reasons are not of its values; papertrain plan {work} --set NAME=VALUE keeps both", method=m, work=quoted(work)) for m in changed_plans), *(translated(doubt) for job in todo if (doubt := copied(job.plan.model))), *(large for job in todo if (large := too_large(job.plan))), *untold_template(todo, made.written), *absent(root, todo), *runs_code(todo, made.written)), result=result, explanation=because, action=action, body=body, mode=settled,
        details="\n".join(f"  {where}: {name}: {why}" for where, unsaid in made.cannot_say.items() for name, why in unsaid.items()),
        data={
            "files": [{"path": c.path, "state": c.kind, "bytes": c.size, "sha256": sha256_text(made.files[c.path])} for c in w.changes],
            "targets": made.written, "skipped": made.skipped, "cannot_say": made.cannot_say, "unconfirmed": unconfirmed,
            "remote_code": {j.name: f"{j.model}@{j.remote_code}" for j in todo if j.remote_code is not None},
            "known_up_to": {t.id: t.version for t in targets().values()},
        },
    )  # fmt: skip


def said_in_files(place: Workspace) -> None:
    """Files of a plan that has just been confirmed no longer say that it is not: those that nobody edited, of the plan as
    it stands, are written again. Files of an older plan are left to `generate`."""
    from contextlib import suppress

    from papertrain.configs.generating import generate as make
    from papertrain.configs.generating import targets
    from papertrain.core.errors import PapertrainError
    from papertrain.core.writing import Writer
    from papertrain.verbs.launching.jobs import allowed, jobs

    known = place.state("generated.json")
    if not known or any(known.get(m) != place.plan_digest(m) for m in place.methods()):
        return
    files: dict[str, str] = {}
    alike = False
    with suppress(PapertrainError):  # a plan that no file can be made from is `generate`'s to tell
        todo = allowed(jobs(place), known.get(ALLOWED) or ())
        made = {(j.name, id) for j in todo for id in targets() if any((place.root / j.folder(id)).glob("*"))}
        names = tuple(dict.fromkeys(id for _, id in made))
        commands = {m.name: m.command for m in place.study.methods if m.kind == "command"}
        files = dict(make(todo, names, commands, lambda job, id: (job.name, id) in made).files)
        alike = len(made) == len(names) * len(todo)  # else the startup commands would name what was not asked for
    with Writer(place.root, keep=True) as w:
        for name, text in files.items():
            if (place.root / name).is_file() and (alike or not name.startswith("commands.")):
                w.text(name, text, executable=name.endswith(".sh"))
