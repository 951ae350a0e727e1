"""A Slurm cluster: the sbatch script is shown, tested with `--test-only`, and submitted."""

from __future__ import annotations

from papertrain.core.program import Program
from papertrain.core.slurm import Task, sbatch
from papertrain.core.workspace import JOB_END
from papertrain.run.launcher import Launcher, Place, Start
from papertrain.run.which import which


def start(program: Program, place: Place) -> Start:
    file = f"runs/{place.run}/job.sbatch"
    text = sbatch(
        place.run, [Task(program=program, ended=f"runs/{place.run}/{JOB_END}")], hours=place.hours, gpus=place.gpus, site=place.site,
        log=f"runs/{place.run}/stdout.log", preflight=place.preflight,
    )  # fmt: skip
    return Start(
        words=("sbatch", "--parsable", file),
        environment=(),
        submits=True,
        script=text,
        checked_by=("sbatch", "--test-only", file),
    )


def ready(place: Place) -> str | None:
    return (
        None
        if which("sbatch", place.search)
        else "sbatch is not installed on this machine: start it where you submit jobs"
    )


LAUNCHER = Launcher(id="slurm", title="a Slurm job", fits=lambda program: program.nodes > 1, ready=ready, start=start)
