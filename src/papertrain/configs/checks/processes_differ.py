"""accelerate's process count against the stated cards, and against the command that uses it."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, set_to
from papertrain.configs.checking.world import World
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    processes, machines = document.integer("num_processes"), document.integer("num_machines") or 1
    if processes is None:
        return
    if machines > 1 and processes % machines:
        yield Wrong(says=say("`num_processes` is the number on all machines: {n} cannot be divided over {m}", n=processes, m=machines), at=("num_processes",), instead=f"num_processes: {processes * machines}",
                    edits=(set_to("num_processes", value=processes * machines),))  # fmt: skip
    cards = world.world_size
    if cards is not None and processes > cards:
        yield Wrong(
            says=say("`num_processes` is {n}, and there are {cards} cards", n=processes, cards=cards),
            at=("num_processes",),
            instead=f"num_processes: {cards}",
            edits=(set_to("num_processes", value=cards),),
        )
    elif cards is not None and processes < cards:
        yield Wrong(
            says=say(
                "`num_processes` is {n}: {idle} of {cards} cards stay idle",
                n=processes,
                idle=cards - processes,
                cards=cards,
            ),
            at=("num_processes",),
            instead=f"num_processes: {cards}",
            edits=(set_to("num_processes", value=cards),),
            level="note",
        )
    rank = document.integer("machine_rank")
    if rank is not None and rank >= machines:
        yield Wrong(
            says=say("`machine_rank` {rank} does not exist among {m} machines", rank=rank, m=machines),
            at=("machine_rank",),
            instead="machine_rank: 0",
        )


RULE = Rule(
    id="TR346",
    name="processes-differ",
    level="error",
    status="stable",
    check=check,
    effect="experiment",
    applies="accelerate",
    what="`num_processes` of an accelerate file does not fit the machines or the cards.",
    why="`num_processes` counts over all machines: with the number of one machine each of them gets half, or the launcher refuses.",
    source=Source(
        kind="code", ref="accelerate 1.15.0 commands/launch.py: nproc_per_node = num_processes // num_machines"
    ),
    fires="== with gpu=4x A100-80GB\n== a.yaml\ncompute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_machines: 1\nnum_processes: 8\n",
    quiet="== with gpu=8x A100-80GB\n== a.yaml\ncompute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_machines: 1\nnum_processes: 8\n",
)
