"""A Slurm script whose log goes to a folder that does not exist."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong
from papertrain.configs.checking.world import World
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    for key in ("output", "error"):
        named = document.settings.get(key)
        if not isinstance(named, str) or "/" not in named or document.path is None:
            continue
        folder = named.rpartition("/")[0]
        if "%" in folder or "$" in folder or folder.startswith("/dev"):
            continue
        if not folder.startswith("/") and world.place(document, folder) is None:
            yield Wrong(
                says=say(
                    "{folder}/ is not there: Slurm does not make it, and the job ends without a log", folder=folder
                ),
                at=(key,),
                instead=f"mkdir -p {folder}",
            )


RULE = Rule(
    id="TR417",
    name="slurm-log-folder",
    level="warning",
    status="stable",
    check=check,
    applies="slurm",
    what="The folder of `--output` or `--error` does not exist.",
    why="Slurm opens the log before the script runs: without the folder the job fails at once and says nothing.",
    source=Source(kind="rule", ref="sbatch(1): --output; a missing folder is not created"),
    fires="== job.sh\n#!/bin/bash\n#SBATCH --output=logs/%j.out\nsrun python train.py\n",
    quiet="== job.sh\n#!/bin/bash\n#SBATCH --output=%j.out\nsrun python train.py\n",
)
