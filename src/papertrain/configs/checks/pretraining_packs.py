"""Pre-training packs unless it is told not to."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.accounting import account
from papertrain.configs.checking.document import ConfigDocument, Wrong, set_to
from papertrain.configs.checking.world import World
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if (
        document.settings.get("stage") != "pt"
        or document.settings.get("packing") is not None
        or document.role in ("chat", "export")
    ):
        return
    found = account(document, world)
    cutoff = document.integer("cutoff_len") or 2048
    counted = (
        say(
            "{rows:,} rows become {n:,} examples of {cutoff:,} tokens",
            rows=found.used_rows,
            n=found.examples,
            cutoff=cutoff,
        )
        if found and found.examples
        else say("rows are joined into examples of {cutoff:,} tokens", cutoff=cutoff)
    )
    yield Wrong(says=say("`stage: pt` packs by default: {counted}, and the steps follow the examples", counted=counted), at=("stage",),
                instead="packing: true", edits=(set_to("packing", value=True),))  # fmt: skip


RULE = Rule(
    id="TR319",
    name="pretraining-packs",
    level="note",
    status="stable",
    check=check,
    applies="llamafactory",
    what="In pre-training LLaMA-Factory joins rows into full sequences, also where the file does not say so.",
    why="A million rows that become 35,000 examples look like lost data: the log counts examples, not rows.",
    source=Source(
        kind="code",
        ref="llamafactory 0.9.5 hparams/parser.py: data_args.packing = data_args.packing if not None else stage == 'pt'",
    ),
    fires="== t.yaml\nstage: pt\ntemplate: default\nfinetuning_type: lora\n",
    quiet="== t.yaml\nstage: pt\ntemplate: default\nfinetuning_type: lora\npacking: true\n",
)
