"""What a person reads before anything starts: command, variables, environment, files, and the job's script."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from papertrain.core.commands import line
from papertrain.core.environment import Environment
from papertrain.core.program import shell_line
from papertrain.core.sentences import translated
from papertrain.core.texts import say
from papertrain.core.wide import padded
from papertrain.core.workspace import Workspace
from papertrain.run import record as records
from papertrain.run.slurm_jobs import says as slurm_says
from papertrain.verbs.launching.here import variables
from papertrain.verbs.launching.ready import Ready, launchers


def shown(one: Ready, environment: Environment | None, *, script: bool = True) -> list[str]:
    """What a person reads before it starts: command, variables, environment, files, and the job's script."""
    lines = [f"  {one.run.id}   ({one.target}, {translated(launchers()[one.launcher].title)})"]
    lines += [f"    {v.name}={v.value}" + (f"   # {translated(v.why)}" if v.why else "") for v in one.start.environment]
    lines += [f"    {shell_line(one.start.words)}"]
    if environment is not None and one.target != "command":
        have = ", ".join(f"{k} {v}" for k, v in records.versions(environment.versions).items())
        lines.append(
            f"    {padded(say('environment'), 12)} {environment.path}: {have or say('no training package in it')}"
        )
    lines.append(
        f"    {padded(say('reads'), 12)} {', '.join([*one.files, *(Path(d).name for d in one.data)]) or say('nothing that is named')}"
    )
    lines.append(f"    {padded(say('writes'), 12)} runs/{one.run.id}")
    if one.start.script and script:
        lines += ["", *(f"    {line}" for line in one.start.script.splitlines())]
    return lines


def body(todo: Sequence[Ready], environment: Environment | None, array: str | None) -> str:
    """All cells; the script of the array that they make, where they make one, in place of a script for each."""
    text = "\n".join(row for one in todo for row in [*shown(one, environment, script=array is None), ""])
    return text + "\n".join(f"    {row}" for row in (array or "").splitlines())


def tested(work: Workspace, todo: Sequence[Ready], array: str | None, environment: Environment | None) -> str:
    """What Slurm says of the first script, or of the array's, without starting it; empty where there is no Slurm."""
    first = next((one for one in todo if one.start.checked_by), None)
    if first is None:
        return ""
    script = first.start.script if array is None else array
    said = slurm_says(first.start.checked_by[:-1], script, work.root, variables(first, environment))
    return say("sbatch --test-only says: {text}", text=" ".join(said.split())[:300]) if said else ""


def plain(one: Ready) -> dict[str, Any]:
    return {
        "run": one.run.id, "state": one.run.state, "target": one.target, "launcher": one.launcher, "argv": list(one.start.words),
        "environment": {v.name: v.value for v in one.start.environment}, "files": list(one.files), "data": list(one.data), "script": one.start.script or None,
    }  # fmt: skip


def asked(body: str) -> bool:
    """A person at a terminal is asked; anyone else is not."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    sys.stderr.write(body + "\n" + say("start? [y/N] "))
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def again(work: Path, **options: object) -> str:
    """The same command with --yes."""
    words: list[object] = ["papertrain", "launch", work]
    for name, value in options.items():
        words += [] if value in (None, False) else [f"--{name}"] if value is True else [f"--{name}", value]
    return line(*words, "--yes")
