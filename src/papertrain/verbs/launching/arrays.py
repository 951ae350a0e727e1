"""Several open cells of a study as one Slurm array: one script, one submission, a record for each cell."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from papertrain.core.commands import line
from papertrain.core.report import Report
from papertrain.core.site import read_site
from papertrain.core.slurm import Task, sbatch
from papertrain.core.texts import say
from papertrain.core.workspace import JOB_END
from papertrain.core.writing import Writer
from papertrain.verbs.launching import starting
from papertrain.verbs.launching.here import variables
from papertrain.verbs.launching.jobs import hours_of, preflight_of

if TYPE_CHECKING:
    from papertrain.core.environment import Environment
    from papertrain.core.values import Mode
    from papertrain.core.workspace import Workspace
    from papertrain.verbs.launching.ready import Ready

FILE = "runs/array.sbatch"


def fits(todo: Sequence[Ready]) -> bool:
    """Whether one array can start them: all through Slurm, all with the same nodes and devices."""
    wanted = {(one.launcher, one.program.nodes, one.program.devices, one.on_cpu) for one in todo}
    return len(todo) > 1 and len(wanted) == 1 and todo[0].launcher == "slurm"


def script(work: Workspace, todo: Sequence[Ready]) -> str:
    """The array's script; every task writes into the folder of its run."""
    tasks = [
        Task(program=one.program, log=f"runs/{one.run.id}/stdout.log", ended=f"runs/{one.run.id}/{JOB_END}")
        for one in todo
    ]
    trained = [one.run.method for one in todo if work.study.method(one.run.method).kind == "train"]
    hours = [h for method in trained if (h := hours_of(work.plan(method))) is not None]
    return sbatch(
        work.root.resolve().name, tasks, hours=max(hours, default=None), gpus=not todo[0].on_cpu, site=read_site(work.root),
        log="runs/array-%A_%a.log", preflight=preflight_of(work, todo[0].run),
    )  # fmt: skip


def submit(
    work: Workspace, todo: Sequence[Ready], environment: Environment | None, mode: Mode, warnings: Sequence[str]
) -> Report:
    """One submission; the record of each cell names its task."""
    records: list[dict[str, Any]] = []
    with Writer(work.root, overwrite=True) as w:
        w.text(FILE, script(work, todo))
        for one in todo:
            content = starting.first_record(work, one, environment)
            records.append(content)
            w.text(f"runs/{one.run.id}/record.json", starting.record_text(content))
    for one in todo:
        (work.run_path(one.run.id) / JOB_END).unlink(missing_ok=True)
    done = subprocess.run(
        ["sbatch", "--parsable", FILE], capture_output=True, text=True, cwd=work.root, env=variables(todo[0], environment), timeout=120
    )  # fmt: skip
    job = done.stdout.strip().split(";")[0]
    with Writer(work.root, overwrite=True) as w:
        for i, (one, content) in enumerate(zip(todo, records)):
            content |= {
                "command": line("sbatch", "--parsable", Path(FILE)),
                "words": ["sbatch", "--parsable", FILE],
                "last": {},
            }
            content |= (
                {"job": f"{job}_{i}"}
                if done.returncode == 0
                else {"exit_code": done.returncode, "ended_at": content["started_at"]}
            )
            w.text(f"runs/{one.run.id}/record.json", starting.record_text(content))
    if done.returncode != 0:
        return Report(verb="launch", mode=mode, level="error", result=say("Slurm refused the array: {text}", text=" ".join(done.stderr.split())[:200]),
                      explanation=say("the script is {file}", file=work.root / FILE), action=line("sbatch", "--test-only", work.root / FILE), warnings=tuple(warnings),
                      data={"runs": records, "started": False})  # fmt: skip
    body = "\n".join("  " + say("{run} submitted as job {job}", run=r["run"], job=r["job"]) for r in records)
    return Report(verb="launch", mode=mode, result=say("{n} submitted as one array, job {job}", n=len(records), job=job), body=body,
                  explanation=say("each writes into the folder of its run; {command} shows the grid", command=line("papertrain", "status", work.root)),
                  action=line("papertrain", "status", work.root), warnings=tuple(warnings), data={"runs": records, "started": True, "not_started": [], "job": job})  # fmt: skip
