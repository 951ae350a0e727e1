"""A run that leaves no checkpoint, goes over its data hundreds of times, or writes to the root of the machine."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.accounting import account
from papertrain.configs.checking.document import ConfigDocument, Wrong
from papertrain.configs.checking.world import World
from papertrain.configs.checks._common import word
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source

# Of 389 published configurations none has more; up to 128 epochs were tried on small reasoning sets.
MOST_EPOCHS = 128
SYSTEM = ("", "~", "/root", "/home", "/usr", "/etc", "/tmp", "C:")
"""Folders of the machine, with or without a slash behind them; an empty one is the root."""


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if not document.trains or document.role == "override":
        return
    steps = document.integer("max_steps")
    epochs = document.number("num_train_epochs")
    limited = steps is not None and steps > 0
    if epochs is not None and epochs > MOST_EPOCHS and not limited:
        yield Wrong(says=say("{n:g} epochs: no published fine-tuning goes over its data so often", n=epochs), at=(document.name("num_train_epochs"),),
                    instead=say("1 to 3 epochs; up to 15 for fewer than 2,000 examples"), effect="experiment")  # fmt: skip
    every = document.number("save_steps")
    if every is not None and every >= 1 and word(document, "save_strategy", "steps") == "steps":
        found = None if limited else account(document, world)
        total = steps if limited else found.total_steps if found else None
        if total and every > total:
            yield Wrong(says=say("`save_steps` is {every:,.0f}, and the run has {total:,} steps: no checkpoint is written before the end", every=every, total=total),
                        at=("save_steps",), instead=say("at most {total:,}", total=total), level="note")  # fmt: skip
    folder = document.settings.get("output_dir")
    if isinstance(folder, str) and folder.strip() and folder.strip().rstrip("/\\") in SYSTEM:
        yield Wrong(says=say("`output_dir` is {folder}: a run writes and rotates checkpoints there", folder=folder), at=("output_dir",),
                    instead=say("a folder of its own"), level="error", effect="execution")  # fmt: skip


RULE = Rule(
    id="TR357",
    name="length-implausible",
    level="warning",
    status="stable",
    check=check,
    applies="llamafactory trl axolotl trainer",
    effect="experiment",
    what="The run leaves no checkpoint on its way, repeats its data hundreds of times, or writes to a folder of the system.",
    why="A crash loses all of it; a model that has seen its data three hundred times has learnt them by heart.",
    source=Source(
        kind="rule",
        ref="389 published configurations: 1 to 3 epochs, 5 to 15 for small reasoning sets; at most 128 tried",
    ),
    fires="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nnum_train_epochs: 300\n",
    quiet="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nnum_train_epochs: 3\n",
)
