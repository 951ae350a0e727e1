"""A Ray cluster: the run is a Ray job, submitted with the workspace as its folder."""

from __future__ import annotations

import os

from papertrain.core.program import Program, shell_line, torchrun
from papertrain.run.launcher import Launcher, Place, Start
from papertrain.run.which import which


def start(program: Program, place: Place) -> Start:
    words, added = (list(program.words), []) if program.devices == 1 else torchrun(program)
    if program.kind == "python" and program.devices == 1:
        words = ["python", *words]
    variables = [f"{v.name}={v.value}" for v in (*program.environment, *added)]
    address = os.environ.get("RAY_ADDRESS", "http://127.0.0.1:8265")
    line = [
        "ray",
        "job",
        "submit",
        "--address",
        address,
        "--no-wait",
        "--working-dir",
        ".",
        "--",
        "bash",
        "-c",
        shell_line(["env", *variables, *words]),
    ]
    return Start(words=tuple(line), environment=(), submits=True)


def ready(place: Place) -> str | None:
    return None if which("ray", place.search) else "ray is not installed in the training environment"


LAUNCHER = Launcher(id="ray", title="a Ray job", fits=lambda program: False, ready=ready, start=start)
