"""This machine, one process."""

from __future__ import annotations

from papertrain.core.program import Program, alone
from papertrain.run.launcher import Launcher, Place, Start


def start(program: Program, place: Place) -> Start:
    return Start(words=alone(program, place.python), environment=program.environment)


LAUNCHER = Launcher(
    id="local",
    title="one process on this machine",
    fits=lambda program: (program.devices * program.nodes == 1 and not program.ranked) or program.kind == "command",
    ready=lambda place: None,
    start=start,
)
