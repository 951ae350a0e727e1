"""A Ray cluster: the run is a Ray job that works in the workspace."""

from __future__ import annotations

import os
import shlex

from papertrain.core.program import Program, Variable, alone, shell_line, torchrun
from papertrain.core.workspace import JOB_END
from papertrain.run.launcher import Launcher, Place, Start
from papertrain.run.which import which


def start(program: Program, place: Place) -> Start:
    """The job works in the workspace itself, which every node must see: a copy of it would lack the data beside it, and keep the results."""
    words, added = (list(alone(program, place.python)), []) if program.devices == 1 else torchrun(program)
    if program.kind == "python" and program.devices > 1:
        words = [place.python, "-m", "torch.distributed.run", *words[1:]]
    variables = [f"{v.name}={v.value}" for v in (*program.environment, *added, *_path(place))]
    folder = f"runs/{place.run}"
    root = os.path.abspath(place.root)  # noqa: PTH100 - a link is named, not followed
    inside = (
        f"cd {shlex.quote(root)} || exit 66; {shell_line(['env', *variables, *words])} >> {shlex.quote(folder + '/stdout.log')} 2>&1; "
        f'code=$?; printf \'{{"exit_code": %d}}\\n\' "$code" > {shlex.quote(f"{folder}/{JOB_END}")}; exit "$code"'
    )
    address = os.environ.get("RAY_ADDRESS", "http://127.0.0.1:8265")
    cards = ["--entrypoint-num-gpus", str(program.devices)] if place.gpus else []
    line = ["ray", "job", "submit", "--address", address, "--no-wait", *cards, "--", "bash", "-c", inside]
    return Start(words=tuple(line), environment=(), submits=True)


def _path(place: Place) -> list[Variable]:
    """The job's shell is Ray's: the programs of the training environment come first."""
    return [Variable("PATH", os.pathsep.join([*place.search, os.environ.get("PATH", "")]))]


def ready(place: Place) -> str | None:
    return None if which("ray", place.search) else "ray is not installed in the training environment"


LAUNCHER = Launcher(id="ray", title="a Ray job", fits=lambda program: False, ready=ready, start=start)
