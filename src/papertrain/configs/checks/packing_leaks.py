"""Packed examples that see each other."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, set_to
from papertrain.configs.checking.world import World
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if document.kind == "llamafactory":
        if (
            document.settings.get("packing") is True
            and document.settings.get("stage") == "sft"
            and document.settings.get("neat_packing") is not True
        ):
            yield Wrong(says=say("`packing` joins examples, and each one attends to those before it: `neat_packing: true` keeps them apart"), at=("packing",), instead="neat_packing: true",
                        edits=(set_to("neat_packing", value=True),))  # fmt: skip
    elif document.kind == "axolotl" and document.settings.get("sample_packing") is True:
        keeps = any(
            document.settings.get(k) is True
            for k in ("flash_attention", "flex_attention", "xformers_attention", "sdp_attention", "sage_attention")
        ) or document.settings.get("attn_implementation")
        if not keeps:
            yield Wrong(
                says=say(
                    "`sample_packing` without an attention that knows where examples end: they attend to each other"
                ),
                at=("sample_packing",),
                instead="flash_attention: true",
            )


RULE = Rule(
    id="TR341",
    name="packing-leaks",
    level="note",
    status="stable",
    check=check,
    applies="llamafactory axolotl",
    effect="experiment",
    what="Examples are packed, and the attention does not stop between them.",
    why="An answer is trained with strangers' text in its context; how much it hurts depends on the data, and the paper should say it.",
    source=Source(
        kind="code",
        ref="llamafactory 0.9.5 data_args.py: neat_packing = sequence packing without cross-attention; axolotl 0.19.0 validation: sample_packing without flash, sdp, xformers, sage or flex attention does not handle cross sample decontamination",
    ),
    fires="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\npacking: true\n",
    quiet="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nneat_packing: true\n",
)
