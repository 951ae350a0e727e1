"""`status`: what is done, what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from papertrain.core.commands import line
from papertrain.core.params import Arg, ModeArg
from papertrain.core.report import Report
from papertrain.core.sentences import translated
from papertrain.core.texts import say
from papertrain.core.values import plain
from papertrain.core.ways import too_large
from papertrain.core.wide import padded
from papertrain.core.workspace import Workspace

MARKS = {"done": "✓", "unconfirmed": "?", "stale": "~", "missing": "·"}


def status(
    work: Annotated[Path, Arg("the workspace", "WORK")],
    *,
    confirm: Annotated[str | None, Arg("confirm a step: `derive` confirms every plan as it stands now", "STEP")] = None,
    project: Annotated[
        bool, Arg("what was understood of paper-project.yaml, and what the study could add to it")
    ] = False,
    authorize: Annotated[
        Sequence[str], Arg("write the proposed change to this file: `paper-project.yaml`", "FILE")
    ] = (),
    mode: ModeArg = None,
) -> Report:
    """Show what is done, what is missing or stale, and the next command.

    Each of the six steps has a state (done, unconfirmed, missing, stale) with its reason; below it the grid of the
    study's runs and the method's done-when list.

    papertrain status work
    papertrain status work --confirm derive        you read the plan and stand by it; recorded with its digest and time
    papertrain status work --project               paper-project.yaml: what was understood, and a diff that adds what is known
    """
    from papertrain.core.gate import decide_mode
    from papertrain.evidence.checklist import done_when, next_step, steps
    from papertrain.verbs.package import broken

    space = Workspace.open(work)
    if project or authorize:
        from papertrain.verbs._project import project_report

        return project_report(space, authorize, decide_mode(mode, work))
    said = _confirm(space, confirm) if confirm is not None else ""
    found, conditions, grid = steps(space), done_when(space), space.grid()
    settled = decide_mode(mode, work)
    first = next_step(space, settled, found)
    done = sum(s.state == "done" for s in found)
    width = max(len(s.name) for s in found)
    body = [
        f"  {MARKS[s.state]} {s.step} {s.name:<{width}}  {padded(translated(s.state), 11)} {translated(s.because)}"
        for s in found
    ]
    if grid:
        body += ["", *_grid_lines([(r.id, translated(r.state), translated(r.because)) for r in grid])]
    details = ["", *(f"  [{'x' if c.met else ' '}] {translated(c.text)}: {translated(c.because)}" for c in conditions)]
    return Report(
        verb="status",
        mode=settled,
        result=(said + " " if said else "") + say("{done} of {all} steps done", done=done, all=len(found)),
        body="\n".join(body),
        details="\n".join(details),
        explanation=say("{name}: {because}", name=first.name, because=first.because)
        if first
        else say("every step is done"),
        action=first.next if first else line("papertrain", "report", work, "-o", "report.html"),
        warnings=(*broken(space), *(large for m in space.methods() if (large := too_large(space.plan(m))))),
        data={
            "steps": plain(found),
            "grid": [{"run": r.id, "state": r.state, "because": r.because} for r in grid],
            "done_when": plain(conditions),
        },
    )


def _confirm(space: Workspace, step: str) -> str:
    from papertrain.core.errors import PapertrainError
    from papertrain.core.gate import confirm
    from papertrain.verbs.generate import said_in_files

    if step != "derive":
        raise PapertrainError(f"no step {step!r} waits for a confirmation", code="unknown-step", nearest="derive")
    methods = space.methods()
    if not methods:
        raise PapertrainError("no plan to confirm", code="no-plan", file=space.root)
    for method in methods:
        said_in_plan(space, method, confirm(space, method).at)
    said_in_files(space)
    return say("Confirmed: the plan of {methods}.", methods=", ".join(methods))


def said_in_plan(space: Workspace, method: str, at: str) -> None:
    """`plan.md` says it too; one that a person edited is left as it is."""
    from contextlib import suppress

    from papertrain.core.errors import PapertrainError, Refused
    from papertrain.core.files import read_text
    from papertrain.core.writing import Writer

    page = space.plan_path(method).with_name("plan.md")
    try:
        lines = read_text(page, limit=2**22).splitlines()
    except PapertrainError:
        return
    marked = [f"Status: **confirmed at {at}**" if one.startswith("Status: **") else one for one in lines]
    with suppress(Refused), Writer(space.root) as w:
        w.text(f"plans/{method}/plan.md", "\n".join(marked) + "\n")


def _grid_lines(rows: list[tuple[str, str, str]]) -> list[str]:
    width = max(len(r[0]) for r in rows)
    lines = [f"  {run:<{width}}  {state:<11} {because}" for run, state, because in rows[:20]]
    return lines if len(rows) <= 20 else [*lines, f"  … {len(rows) - 20} more"]
