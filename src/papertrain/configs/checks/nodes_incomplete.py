"""Several nodes, and something that each of them needs is missing."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong
from papertrain.configs.checking.shell import Command
from papertrain.configs.checking.world import World
from papertrain.configs.checks._launch import LLAMAFACTORY, commands, nodes, number, trains
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    for command in commands(document):
        machines, line = nodes(command)
        given = number(str(document.settings.get("nodes"))) if document.kind == "slurm" else None
        if machines is not None and given is not None and machines > given:
            yield Wrong(
                says=say("the command waits for {machines} nodes, and Slurm is asked for {given}", machines=machines, given=given),
                line=line, instead=f"--nnodes {given}", level="error",
            )  # fmt: skip
        if machines is None or machines < 2 or not trains(command):
            continue
        if command.program in LLAMAFACTORY:
            yield from _missing(
                command,
                command.env,
                {"NODE_RANK": "NODE_RANK=0", "MASTER_ADDR": "MASTER_ADDR=10.0.0.1", "MASTER_PORT": "MASTER_PORT=29500"},
                ("RANK",),
                line,
            )
        elif command.launcher == "torchrun" and not any(k.startswith("rdzv") for k in command.options):
            yield from _missing(
                command,
                command.options,
                {"node_rank": "--node_rank 0", "master_addr": "--master_addr 10.0.0.1"},
                (),
                line,
            )
        rank = (
            command.env.get("NODE_RANK")
            if command.program in LLAMAFACTORY
            else command.options.get("node_rank") or command.options.get("machine_rank")
        )
        if rank and (n := number(rank[0])) is not None and not 0 <= n < machines:
            yield Wrong(
                says=say(
                    "node rank {n} does not exist among {machines} nodes: ranks go from 0 to {last}",
                    n=n,
                    machines=machines,
                    last=machines - 1,
                ),
                line=rank[1],
                instead=say("a rank from 0 to {last}", last=machines - 1),
                level="error",
            )
        address = (
            command.env.get("MASTER_ADDR")
            if command.program in LLAMAFACTORY
            else command.options.get("master_addr") or command.options.get("main_process_ip")
        )
        if address is None and "rdzv_endpoint" in command.options:
            meeting, place = command.options["rdzv_endpoint"]
            address = (meeting.rpartition(":")[0] or meeting).strip("[]"), place
        if address and address[0] in ("localhost", "127.0.0.1", "0.0.0.0", "::1"):
            yield Wrong(
                says=say(
                    "{address} is each node itself: {machines} nodes never meet there",
                    address=address[0],
                    machines=machines,
                ),
                line=address[1],
                instead=say("the address of node 0, as the other nodes see it"),
                level="warning" if rank and number(rank[0]) == 0 else "error",  # node 0 may meet itself there
            )


def _missing(
    command: Command, have: dict[str, tuple[str, int]], need: dict[str, str], given_as: tuple[str, ...], line: int
) -> Iterator[Wrong]:
    missing = {
        k: v for k, v in need.items() if k not in have and not (k == "NODE_RANK" and any(g in have for g in given_as))
    }
    if command.wrappers and "srun" in command.wrappers:
        missing.pop("NODE_RANK", None)
    if missing:
        yield Wrong(
            says=say("a run on several nodes lacks {names}", names=", ".join(f"`{k}`" for k in missing)),
            line=line,
            instead=" ".join(missing.values()),
            level="error" if "MASTER_ADDR" in missing or "master_addr" in missing else "warning",
        )


RULE = Rule(
    id="TR408",
    name="nodes-incomplete",
    level="error",
    status="stable",
    check=check,
    applies="command slurm",
    what="A command for several nodes that does not say which node this is, or where they meet.",
    why="Each node waits for the others at an address of its own until the timeout.",
    source=Source(
        kind="code",
        ref="llamafactory 0.9.5 launcher.py: NODE_RANK defaults to 0, MASTER_ADDR to 127.0.0.1; torchrun likewise",
    ),
    fires="== run.sh\nFORCE_TORCHRUN=1 NNODES=2 NODE_RANK=0 llamafactory-cli train sft.yaml\n",
    quiet="== run.sh\nFORCE_TORCHRUN=1 NNODES=2 NODE_RANK=0 MASTER_ADDR=10.0.0.5 MASTER_PORT=29501 llamafactory-cli train sft.yaml\n",
)
