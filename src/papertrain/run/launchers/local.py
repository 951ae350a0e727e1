"""This machine, one process."""

from __future__ import annotations

from papertrain.core.program import Program
from papertrain.run.launcher import Launcher, Place, Start


def start(program: Program, place: Place) -> Start:
    words = (place.python, *program.words) if program.kind == "python" else program.words
    return Start(words=words, environment=program.environment)


LAUNCHER = Launcher(
    id="local",
    title="one process on this machine",
    fits=lambda program: program.devices * program.nodes == 1 or program.kind == "command",
    ready=lambda place: None,
    start=start,
)
