"""srun starts as many launchers as there are tasks."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, swap
from papertrain.configs.checking.world import World
from papertrain.configs.checks._launch import LLAMAFACTORY, commands, number
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    per_node = number(str(document.settings.get("ntasks-per-node", "")))
    total, machines = (
        number(str(document.settings.get("ntasks", ""))),
        number(str(document.settings.get("nodes", "")).split("-")[0]) or 1,
    )
    launchers = [
        c
        for c in commands(document)
        if c.launcher in ("torchrun", "accelerate", "deepspeed") or c.program in LLAMAFACTORY
    ]
    for command in launchers:
        if "srun" in command.wrappers:
            own = number(command.srun.get("ntasks-per-node", ("", 0))[0])
            many = (
                own
                if own is not None
                else per_node
                if per_node is not None
                else (total // machines if total and total > machines else None)
            )
            if many and many > 1:
                line = (
                    document.line("ntasks-per-node")
                    if "ntasks-per-node" in document.settings
                    else document.line("ntasks")
                    if "ntasks" in document.settings
                    else command.line
                )
                yield Wrong(says=say("srun starts {n} launchers on each node, and each of them starts a process per card: one task per node is wanted", n=many, launcher=command.launcher), line=line,
                            instead="#SBATCH --ntasks-per-node=1", edits=(swap(line, f"--ntasks-per-node={many}", "--ntasks-per-node=1"),) if f"--ntasks-per-node={many}" in document.text.splitlines()[line - 1] else ())  # fmt: skip
        elif machines > 1 and "srun" not in command.wrappers and not any(k in command.options for k in ("hostfile",)):
            yield Wrong(
                says=say(
                    "{n} nodes are asked for, and the command runs only on the first: `srun` is missing", n=machines
                ),
                line=command.line,
                instead="srun " + (command.launcher or command.program),
            )


RULE = Rule(
    id="TR411",
    name="slurm-tasks-multiply",
    level="error",
    status="stable",
    check=check,
    applies="slurm",
    what="The number of Slurm tasks does not fit a launcher that starts its own processes.",
    why="Eight tasks with torchrun make 64 processes on eight cards; without srun, all nodes but the first wait empty and are paid for.",
    source=Source(
        kind="rule", ref="srun runs its command once per task; torchrun starts nproc_per_node processes each time"
    ),
    fires="== job.sh\n#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=8\n#SBATCH --gres=gpu:8\nsrun torchrun --nnodes 2 --nproc_per_node 8 --rdzv_backend c10d --rdzv_endpoint $HEAD:29500 train.py\n",
    quiet="== job.sh\n#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\n#SBATCH --gres=gpu:8\nsrun torchrun --nnodes 2 --nproc_per_node 8 --rdzv_backend c10d --rdzv_endpoint $HEAD:29500 train.py\n",
)
