"""CUDA_VISIBLE_DEVICES before the deepspeed launcher."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong
from papertrain.configs.checking.world import World
from papertrain.configs.checks._launch import commands
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    vendor = world.compute.gpu.vendor if world.compute else None
    for command in commands(document):
        visible = command.env.get("CUDA_VISIBLE_DEVICES")
        if visible is None:
            continue
        if command.launcher == "deepspeed" and any(
            k in command.options for k in ("num_gpus", "include", "num_nodes", "hostfile")
        ):
            yield Wrong(
                says=say(
                    "the deepspeed launcher sets CUDA_VISIBLE_DEVICES itself where it is given cards: yours is not kept"
                ),
                line=visible[1],
                instead=f"--include localhost:{visible[0]}",
            )
        elif vendor == "huawei" and "ASCEND_RT_VISIBLE_DEVICES" not in command.env:
            yield Wrong(
                says=say("Ascend devices do not read CUDA_VISIBLE_DEVICES"),
                line=visible[1],
                instead=f"ASCEND_RT_VISIBLE_DEVICES={visible[0]}",
                level="error",
            )


RULE = Rule(
    id="TR414",
    name="device-list-not-read",
    level="warning",
    status="stable",
    check=check,
    applies="command slurm",
    what="CUDA_VISIBLE_DEVICES where the launcher or the device does not read it.",
    why="The run takes other cards than you chose, among them those of somebody else.",
    source=Source(kind="assumed", ref="deepspeed launcher/runner.py and Ascend documentation, from memory"),
    fires="== run.sh\nCUDA_VISIBLE_DEVICES=2,3 deepspeed --num_gpus 2 train.py\n",
    quiet="== run.sh\ndeepspeed --include localhost:2,3 train.py\n",
)
