"""bf16 on a card that has none."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Edit, Wrong, rename, set_to
from papertrain.configs.checking.world import World
from papertrain.configs.checks._common import before
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source

AMPERE, HOPPER_OR_ADA = 8.0, 8.9


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    card = world.compute.gpu if world.compute else None
    if card is None:
        return
    for path, edits in _asked(document):
        if before(card, AMPERE) or (card.vendor == "nvidia" and not card.has_bf16):
            yield Wrong(
                says=say("`{key}` on {card}: it has no bf16 in hardware (compute capability {cc}); write fp16", key=".".join(path), card=card.label, cc=card.compute_capability or "below 8.0"),
                at=path, instead=say("fp16 instead of bf16"), edits=edits,
            )  # fmt: skip
    if document.settings.get("tf32") is True and before(card, AMPERE):
        yield Wrong(says=say("`tf32: true` on {card}: the Trainer stops, since cards before Ampere have no TF32", card=card.label), at=("tf32",),
                    instead="tf32: false", edits=(set_to("tf32", value=False),), effect="execution")  # fmt: skip
    if document.settings.get("fp8") is True and before(card, HOPPER_OR_ADA):
        yield Wrong(
            says=say("`fp8: true` on {card}: it has no FP8 units", card=card.label),
            at=("fp8",),
            instead="fp8: false",
            edits=(set_to("fp8", value=False),),
        )


def _asked(document: ConfigDocument) -> Iterator[tuple[tuple[str, ...], tuple[Edit, ...]]]:
    if document.kind == "deepspeed":
        if document.at("bf16", "enabled") is True:
            yield ("bf16", "enabled"), (set_to("bf16", "enabled", value=False), set_to("fp16", "enabled", value=True))
    elif document.kind == "accelerate":
        if document.settings.get("mixed_precision") == "bf16":
            yield ("mixed_precision",), (set_to("mixed_precision", value="fp16"),)
    else:
        if document.settings.get("bf16") is True:
            yield (
                ("bf16",),
                (Edit(op="drop", path=("bf16",)),) if document.flag("fp16") else (rename("bf16", new="fp16"),),
            )
        if document.kind == "llamafactory" and document.settings.get("pure_bf16") is True:
            yield ("pure_bf16",), (rename("pure_bf16", new="fp16"),)


RULE = Rule(
    id="TR302",
    name="precision-not-on-card",
    level="error",
    status="stable",
    check=check,
    applies="llamafactory trl axolotl trainer deepspeed accelerate",
    effect="experiment",
    what="A number format that the stated card does not have.",
    why="The Trainer stops, or torch emulates it many times slower.",
    known_problems="Needs --gpu. fp16 needs loss scaling, so the change belongs to the experiment.",
    source=Source(
        kind="code",
        ref="transformers training_args.py: bf16 needs a card with bf16; compute capability 8.0 is the first with bf16, 8.9 the first with fp8",
    ),
    fires="== with gpu=1x V100-32GB\n== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nbf16: true\n",
    quiet="== with gpu=1x A100-80GB\n== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nbf16: true\n",
)
