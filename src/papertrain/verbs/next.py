"""`next`: the one command to run now."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from papertrain.core.commands import line
from papertrain.core.params import Arg, ModeArg
from papertrain.core.report import Report
from papertrain.core.texts import say


def next(
    work: Annotated[Path | None, Arg("the workspace (default: this folder, if it is one)", "WORK")] = None,
    *,
    mode: ModeArg = None,
) -> Report:
    """Name the one command to run now, and why.

    papertrain next work
    papertrain next work --json --fields command
    """
    from papertrain.core.gate import decide_mode
    from papertrain.core.workspace import Workspace
    from papertrain.evidence.checklist import next_step

    if work is None and Workspace.is_workspace(Path()):
        work = Path()
    if work is not None and not work.exists():
        Workspace.open(work)  # which says so
    if work is None or (work.is_dir() and not Workspace.is_workspace(work)):
        place = work or Path("work")
        command = line("papertrain", "plan", "MODEL", "--data", "FILE", "-o", place)
        return Report(
            verb="next",
            mode=decide_mode(mode, work),
            result=command,
            explanation=say("there is no plan yet: everything else follows from it"),
            action=line("papertrain", "plan", "--help"),
            data={"command": command, "step": "derive", "because": "no workspace"},
        )
    space = Workspace.open(work)
    chosen = decide_mode(mode, work)
    step = next_step(space, chosen)
    if step is None:
        return Report(
            verb="next",
            mode=chosen,
            result=say("nothing is left to run"),
            explanation=say("every step is done, and the package matches the workspace"),
            action=line("papertrain", "report", work, "-o", "report.html"),
            data={"command": None, "step": None, "because": "done"},
        )
    return Report(
        verb="next",
        mode=chosen,
        result=step.next,
        explanation=say("step {n}, {name}: {because}", n=step.step, name=step.name, because=step.because),
        action=step.next,
        data={"command": step.next, "step": step.name, "because": step.because},
    )
