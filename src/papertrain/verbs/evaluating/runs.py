"""Evaluations that `launch --tasks` starts: the commands that `evaluate --tasks` shows, one after another, each with its record."""

from __future__ import annotations

import json
import os
import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from papertrain.core.commands import line
from papertrain.core.errors import PapertrainError
from papertrain.core.program import COMES_FROM
from papertrain.core.report import Report
from papertrain.core.texts import say
from papertrain.core.writing import Writer

if TYPE_CHECKING:
    from papertrain.core.environment import Environment
    from papertrain.core.values import Mode
    from papertrain.core.workspace import Workspace

SEED = 7


def launched(
    work: Path,
    tasks: Sequence[str],
    *,
    shots: int | None,
    run: str | None,
    more: Sequence[str],
    env: str | None,
    mode: Mode | None,
    start: bool,
) -> Report:
    """Show the commands, and with `start` run those whose model is there. One that fails does not stop the others."""
    from papertrain.core.gate import decide_mode, require_confirmed
    from papertrain.core.workspace import Workspace
    from papertrain.verbs.evaluating.commands import commands
    from papertrain.verbs.launching.here import environment_of

    space = Workspace.open(work)
    settled = decide_mode(mode, space.root)
    names = [t for text in tasks for t in text.split(",") if t]
    rows = commands(space, names, shots, SEED, more, run)
    if not rows:
        raise PapertrainError(
            "no trained method to evaluate: methods of kind command write their own predictions",
            code="nothing-to-evaluate",
            file=work,
        )
    for method in dict.fromkeys(r["run"].split(".")[0] for r in rows):
        require_confirmed(space, method, settled, say("evaluation of {method}", method=method))
    environment = environment_of(space, env)
    able = [r for r in rows if not r["because"]]
    waiting = tuple(f"{r['run']}: {r['because']}" for r in rows if r["because"])
    body = "\n\n".join(f"  # {r['run']} · {r['with']}\n  {r['command']}" for r in rows)
    if not start or not able:
        return Report(
            verb="launch", mode=settled, body=body, warnings=waiting[:8], data={"commands": rows, "started": False},
            result=say("{n} evaluations, {able} of them can start", n=len(rows), able=len(able)),
            explanation=say("nothing was started: add --yes to start it") if able else say("no model is there yet: train first"),
            action=_again(work, names, shots, env, more) if able else line("papertrain", "launch", work, "--missing"),
        )  # fmt: skip
    done = [_run(space, r, environment) for r in able]
    failed = [r for r in done if r["exit_code"] != 0]
    result = say("{n} evaluations done", n=len(done))
    action = line("papertrain", "compare", work)
    if failed:
        result = say("{n} of {all} evaluations failed: {first}, see {log}", n=len(failed), all=len(done), first=failed[0]["run"], log=failed[0]["log"])  # fmt: skip
        action = line("papertrain", "diagnose", space.root / failed[0]["log"])
    return Report(
        verb="launch", mode=settled, result=result, body=body, warnings=waiting[:8], action=action, level="error" if failed else "ok",
        explanation=say("same tasks, shots, seed and per-example output for every method, so that the results can be paired"),
        data={"commands": rows, "runs": done, "started": True},
    )  # fmt: skip


def _again(work: Path, tasks: Sequence[str], shots: int | None, env: str | None, more: Sequence[str]) -> str:
    few = ["--shots", shots] if shots is not None else []
    where = ["--env", env] if env else []
    return line("papertrain", "launch", work, "--tasks", ",".join(tasks), *few, *where, "--yes") + (
        " -- " + " ".join(map(shlex.quote, more)) if more else ""
    )


def _run(work: Workspace, row: dict[str, Any], environment: Environment | None) -> dict[str, Any]:
    """One command: its output and its record lie in results/<run>/."""
    from papertrain.run import record
    from papertrain.run.process import run

    words = _words(row.get("words") or shlex.split(row["command"]), environment)
    folder = work.result_path(row["run"])
    stamp = record.now()
    name = f"evaluation-{stamp[:19].replace(':', '-')}"
    log = folder / f"{name}.log"
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    ended = run(words, folder=Path(row.get("folder") or Path.cwd()), environment=_variables(environment), log=log)
    content = {
        "schema": "papertrain-evaluation/1", "run": row["run"], "with": row["with"], "command": row["command"],
        "versions": record.versions(environment.versions) if environment else {}, "packages": record.frozen(environment.versions) if environment else [],
        "started_at": stamp, "seconds": round(time.monotonic() - began, 3), "exit_code": ended.exit_code, "stopped_by": ended.stopped_by or None,
        "log": os.path.relpath(log, work.root),
    }  # fmt: skip
    with Writer(work.root, overwrite=True) as w:
        text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        w.text(f"{os.path.relpath(folder, work.root)}/{name}.record.json", text)
    return content


def _words(words: list[str], environment: Environment | None) -> list[str]:
    """The program of the training environment; `python` is its interpreter."""
    if environment is None or environment.python is None:
        return words
    if words[0] == "python":
        return [environment.python, *words[1:]]
    program = Path(environment.python).parent / words[0]
    if words[0] in COMES_FROM and not program.is_file():
        raise PapertrainError(
            f"{words[0]} is not in {environment.path}",
            code="needs-package",
            ask=[f"pip install {COMES_FROM[words[0]]} there, or --env PATH of an environment that has it"],
        )
    return [str(program) if program.is_file() else words[0], *words[1:]]


def _variables(environment: Environment | None) -> dict[str, str]:
    from papertrain.core.environment import of_a_child

    own = [str(Path(environment.python).parent)] if environment is not None and environment.python is not None else []
    return of_a_child(*own)
