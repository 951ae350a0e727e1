"""FlashAttention on a card that it does not run on."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, set_to
from papertrain.configs.checking.world import World
from papertrain.configs.checks._common import before
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source

AMPERE, HOPPER = 8.0, 9.0


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    card = world.compute.gpu if world.compute else None
    if card is None:
        return
    for key, value, better in (
        ("flash_attn", document.settings.get("flash_attn") if document.kind == "llamafactory" else None, "sdpa"),
        ("attn_implementation", document.settings.get("attn_implementation"), "sdpa"),
        (
            "flash_attention",
            "fa2" if document.settings.get("flash_attention") is True and document.kind == "axolotl" else None,
            False,
        ),
    ):
        asked = {"fa2": 2, "flash_attention_2": 2, "fa3": 3, "flash_attention_3": 3}.get(str(value))
        if asked is None:
            continue
        if card.vendor != "nvidia" and card.vendor != "amd":
            reason = say("is made for NVIDIA and AMD cards")
        elif before(card, AMPERE):
            reason = say("needs compute capability 8.0, this card has {cc}", cc=card.compute_capability)
        elif asked == 3 and before(card, HOPPER):
            reason = say("needs compute capability 9.0, this card has {cc}", cc=card.compute_capability)
        else:
            continue
        yield Wrong(says=say("FlashAttention-{n} on {card}: it {reason}", n=asked, card=card.label, reason=reason), at=(key,),
                    instead=document.shown(key, better), edits=(set_to(key, value=better),),
                    # FlashAttention is what keeps packed examples apart: without it they may attend to each other.
                    effect="experiment" if any(document.flag(k) for k in ("packing", "neat_packing")) else None)  # fmt: skip


RULE = Rule(
    id="TR317",
    name="flash-attention-not-on-card",
    level="error",
    status="stable",
    check=check,
    applies="llamafactory trl axolotl trainer",
    what="FlashAttention is asked for by name on a card that it has no kernels for.",
    why="The first forward pass stops with `FlashAttention only supports Ampere GPUs or newer`.",
    known_problems="Needs --gpu.",
    source=Source(
        kind="assumed",
        ref="from memory: flash-attn README: Ampere, Ada or Hopper for FlashAttention-2; Hopper for FlashAttention-3",
    ),
    fires="== with gpu=1x V100-32GB\n== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nflash_attn: fa2\n",
    quiet="== with gpu=1x A100-80GB\n== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nflash_attn: fa2\n",
)
