"""One start: the record before it, the process, the record after it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from papertrain.core.environment import Environment, interpreter_environment
from papertrain.core.errors import PapertrainError
from papertrain.core.files import read_text
from papertrain.core.program import shell_line
from papertrain.core.workspace import JOB_END, Workspace
from papertrain.core.writing import Writer, contained
from papertrain.run import record as records
from papertrain.run.process import Ended
from papertrain.run.process import run as run_process
from papertrain.run.progress import Follower
from papertrain.verbs.launching.here import variables
from papertrain.verbs.launching.ready import Ready

SUBMITTED = "submit.log"
"""What the scheduler said to the submission; the job itself writes stdout.log."""


def started(
    work: Workspace,
    one: Ready,
    environment: Environment | None,
    advance: Callable[[int, int], None],
    folder: str | None = None,
) -> dict[str, Any]:
    """Start one cell, wait, and keep its record. Returns the record."""
    folder = folder or f"runs/{one.run.id}"
    place = work.root / folder
    content = _first(work, one, environment, place)
    diff = records.git_diff(work.root) if content.get("git_dirty") else ""
    content["git_diff"] = "git.diff" if diff else None
    with Writer(work.root, overwrite=True) as w:
        w.text(f"{folder}/record.json", record_text(content))
        if diff:
            w.text(f"{folder}/git.diff", diff)
        if one.start.script:
            w.text(f"{folder}/job.sbatch", one.start.script)
    (place / JOB_END).unlink(missing_ok=True)
    began, follower = time.monotonic(), Follower(place)

    def note(pid: int) -> None:
        content["pid"] = pid
        write_record(work, folder, content)

    ended = run_process(
        one.start.words, folder=work.root, environment=variables(one, environment), log=place / (SUBMITTED if one.start.submits else "stdout.log"), started=note,
        tick=lambda: advance(*follower.read()),
    )  # fmt: skip
    follower.read()
    if one.start.submits:
        content |= _submitted(place, ended)
    else:
        content |= {
            "exit_code": ended.exit_code,
            "stopped_by": ended.stopped_by or None,
            "ended_at": records.now(),
            "seconds": round(time.monotonic() - began, 3),
        }
        content["outputs"] = records.outputs(place, work.root)
    content["last"] = {
        k: follower.last[k] for k in ("step", "total_steps", "loss", "eval_loss", "eval_accuracy") if k in follower.last
    }
    write_record(work, folder, content)
    return content


def _first(work: Workspace, one: Ready, environment: Environment | None, place: Path) -> dict[str, Any]:
    before = read_record(place)
    attempts = (
        [*before.get("attempts", []), {k: before.get(k) for k in ("started_at", "ended_at", "exit_code", "stopped_by")}]
        if before
        else []
    )
    method = work.study.method(one.run.method)
    used = environment or interpreter_environment(next(iter(one.start.words), ""))
    return {
        "schema": "papertrain-record/1", "run": one.run.id, "method": one.run.method, "data": one.run.data, "seed": one.run.seed,
        "target": one.target, "env": one.asked_environment or None, "launcher": one.launcher, "command": shell_line(one.start.words), "words": list(one.start.words),
        "environment": records.environment_block(variables(one, environment)), "versions": records.versions(used.versions) if used else {},
        "packages": records.frozen(used.versions) if used else [],
        "plan_digest": work.plan_digest(one.run.method) if method.kind == "train" else None,
        "config": records.digests([work.root / f for f in one.files], work.root), "data_files": records.digests(map(Path, one.data), work.root),
        **records.git_commit(work.root), **records.machine(one.on_cpu), "resumed": one.resume, "attempts": attempts,
        "started_at": records.now(), "ended_at": None, "seconds": None, "exit_code": None, "stopped_by": None, "pid": None, "outputs": [],
    }  # fmt: skip


def first_record(work: Workspace, one: Ready, environment: Environment | None) -> dict[str, Any]:
    """The record of a cell before it starts."""
    return _first(work, one, environment, work.root / f"runs/{one.run.id}")


def _submitted(place: Path, ended: Ended) -> dict[str, Any]:
    lines = read_text(place / SUBMITTED).split()
    job_id = next(
        (
            word.split(";")[0]
            for word in reversed(lines)
            if word.split(";")[0].isdigit() or word.startswith("raysubmit")
        ),
        None,
    )
    if ended.exit_code != 0:
        return {"exit_code": ended.exit_code, "ended_at": records.now()}
    return {"job": job_id, "pid": None}


def write_record(work: Workspace, folder: str, content: dict[str, Any]) -> None:
    with Writer(work.root, overwrite=True) as w:
        w.text(f"{folder}/record.json", record_text(content))


def record_text(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def read_record(place: Path) -> dict[str, Any]:
    """The record of a run; empty where it has none that can be read."""
    try:
        content = json.loads(read_text(place / "record.json"))
    except (PapertrainError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def set_aside(work: Workspace, run: str) -> str | None:
    """An earlier attempt moves out of the way, so that nothing of it is mixed with the new one."""
    place = work.run_path(run)
    if not place.exists():
        return None
    at = 1
    while (old := work.root / "runs" / "earlier" / f"{run}.{at}").exists():
        at += 1
    contained(work.root, place.parent, old.parent)
    old.parent.mkdir(parents=True, exist_ok=True)
    place.rename(old)
    return str(old.relative_to(work.root))
