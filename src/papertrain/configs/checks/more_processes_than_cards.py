"""More processes than the machine has cards, or fewer visible cards than processes."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong
from papertrain.configs.checking.shell import Command
from papertrain.configs.checking.world import World
from papertrain.configs.checks._launch import commands, nodes, number, processes_per_node
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    for command in commands(document):
        wanted, line = processes_per_node(command)
        machines, _ = nodes(command)
        if command.launcher == "accelerate" and wanted is None:
            total = number(command.options.get("num_processes", ("", 0))[0])
            wanted, line = (
                (total // max(machines or 1, 1), command.options["num_processes"][1]) if total else (None, line)
            )
        visible = _visible(command)
        if wanted is None or visible == 0:
            continue
        if visible is not None and wanted > visible:
            yield Wrong(
                says=say(
                    "{n} processes are started, and CUDA_VISIBLE_DEVICES shows {visible} cards",
                    n=wanted,
                    visible=visible,
                ),
                line=line,
                instead=say(
                    "{n} processes, or {wanted} visible cards: the global batch follows the number of processes",
                    n=visible,
                    wanted=wanted,
                ),
            )
        slurm = _slurm_cards(document)
        if slurm is not None and wanted > slurm:
            yield Wrong(
                says=say(
                    "{n} processes are started per node, and Slurm is asked for {cards} cards", n=wanted, cards=slurm
                ),
                line=line,
                instead=say("{n} processes, or --gres=gpu:{m}", n=slurm, m=wanted),
            )
        stated = world.compute.gpus_per_node if world.compute else None
        if stated is not None and wanted > stated and visible is None:
            yield Wrong(
                says=say("{n} processes are started per node, and a node has {cards} cards", n=wanted, cards=stated),
                line=line,
                instead=say("{n} processes", n=stated),
            )
        elif stated is not None and wanted < stated and visible is None:
            yield Wrong(
                says=say(
                    "{n} processes are started per node, and {cards} cards are there: {idle} stay idle",
                    n=wanted,
                    cards=stated,
                    idle=stated - wanted,
                ),
                line=line,
                instead=say("{n} processes", n=stated),
                level="note",
            )


def _visible(command: Command) -> int | None:
    """How many cards the command is shown; 0 is a run on the processor, of any number of processes. None: it does not say."""
    for name in ("CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"):
        if name in command.env and "$" not in command.env[name][0]:
            return len([p for p in command.env[name][0].split(",") if p.strip()])
    return None


def _slurm_cards(document: ConfigDocument) -> int | None:
    if document.kind != "slurm":
        return None
    for key in ("gpus-per-node", "gres"):
        text = str(document.settings.get(key, ""))
        if key == "gres" and "gpu" not in text:
            continue
        if text and (n := number(text.rpartition(":")[2])) is not None:
            return n
    return None


RULE = Rule(
    id="TR406",
    name="more-processes-than-cards",
    level="error",
    status="stable",
    check=check,
    applies="command slurm",
    what="The number of processes does not fit the number of cards.",
    why="`CUDA error: invalid device ordinal`, or two processes on one card that run out of memory.",
    source=Source(kind="rule", ref="torchrun starts one process per card; each sets its device from LOCAL_RANK"),
    fires="== run.sh\nCUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=4 train.py\n",
    quiet="== run.sh\nCUDA_VISIBLE_DEVICES=0,1,2,3 torchrun --nproc_per_node=4 train.py\nCUDA_VISIBLE_DEVICES='' torchrun --nproc_per_node=2 train.py\n",
)
