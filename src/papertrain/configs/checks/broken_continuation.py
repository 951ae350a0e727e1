"""A line that is meant to go on and does not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, swap
from papertrain.configs.checking.world import World
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if document.format != "shell" or document.kind not in ("command", "slurm", "environment"):
        return
    lines = document.text.splitlines()
    for i, line in enumerate(lines, 1):
        bare = line.rstrip("\r")
        if re.search(r"\\[ \t]+$", bare) and not bare.lstrip().startswith("#"):
            stripped = bare.rstrip()
            yield Wrong(
                says=say(
                    "blanks follow the backslash: the command ends here, and the next line is a command of its own"
                ),
                line=i,
                instead=say("no blank after the backslash"),
                edits=(swap(i, bare, stripped),),
            )
        elif (
            re.match(r"\s*--[A-Za-z]", bare)
            and i > 1
            and not lines[i - 2].rstrip("\r").endswith("\\")
            and lines[i - 2].strip()
            and not lines[i - 2].lstrip().startswith("#")
        ):
            yield Wrong(says=say("this line begins with an option, and the line before does not go on: a backslash is missing there"), line=i - 1, instead=say("a backslash at the end of line {n}", n=i - 1),
                        edits=(swap(i - 1, lines[i - 2], lines[i - 2].rstrip() + " \\"),))  # fmt: skip


RULE = Rule(
    id="TR409",
    name="broken-continuation",
    level="error",
    status="stable",
    check=check,
    applies="command slurm",
    what="A command over several lines that is cut by a blank after a backslash, or by a missing one.",
    why="The options below the cut are lost: the run starts with defaults.",
    source=Source(kind="rule", ref="POSIX shell, 2.2.1: only a backslash right before the newline continues a line"),
    fires="== run.sh\ntorchrun --nproc_per_node 2 train.py \\ \n    --learning_rate 1e-4\n",
    quiet="== run.sh\ntorchrun --nproc_per_node 2 train.py \\\n    --learning_rate 1e-4\n",
)
