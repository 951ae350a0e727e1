"""This machine, one process per device, through torchrun (or the tool's own use of it)."""

from __future__ import annotations

from msgspec import structs

from papertrain.core.program import Program, torchrun
from papertrain.run.launcher import Launcher, Place, Start
from papertrain.run.ports import free_port
from papertrain.run.which import which


def start(program: Program, place: Place) -> Start:
    here = structs.replace(program, nodes=1)
    words, added = torchrun(here, port=free_port())
    if program.kind == "python":
        words = [place.python, "-m", "torch.distributed.run", *words[1:]]
    return Start(words=tuple(words), environment=(*program.environment, *added))


def ready(place: Place) -> str | None:
    return None if which("torchrun", place.search) else "torchrun is not in the training environment"


LAUNCHER = Launcher(
    id="torchrun",
    title="one process per device of this machine",
    fits=lambda program: (program.devices > 1 or program.ranked) and program.nodes == 1 and program.kind != "command",
    ready=ready,
    start=start,
)
