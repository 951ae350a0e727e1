"""Packing and grouping by length at once."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, drop
from papertrain.configs.checking.world import World
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    packs = next((k for k in (document.name("packing"), "neat_packing") if document.settings.get(k) is True), None)
    groups = next(
        (
            k
            for k, v in (("group_by_length", True), ("train_sampling_strategy", "group_by_length"))
            if document.settings.get(k) == v
        ),
        None,
    )
    if packs and groups:
        yield Wrong(says=say("`{packs}` makes all sequences equally long: `{groups}` then only takes time and order away from the shuffle", packs=packs, groups=groups), at=(groups,),
                    instead=say("remove `{key}`", key=groups), edits=(drop(groups),))  # fmt: skip


RULE = Rule(
    id="TR312",
    name="packing-with-length-grouping",
    level="warning",
    status="stable",
    check=check,
    effect="experiment",
    applies="llamafactory trl axolotl trainer",
    what="Packing and grouping by length are both on.",
    why="Grouping saves padding; packed sequences have none. What is left is a worse shuffle.",
    source=Source(kind="rule", ref="packed sequences all have the cut-off length"),
    fires="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\npacking: true\ntrain_sampling_strategy: group_by_length\n",
    quiet="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\npacking: false\ntrain_sampling_strategy: group_by_length\n",
)
