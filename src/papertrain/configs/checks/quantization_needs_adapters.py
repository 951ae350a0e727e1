"""A model in 4 or 8 bits whose weights are to be trained."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, drop, set_to
from papertrain.configs.checking.world import World
from papertrain.configs.checks._common import adapts, quantised
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    key = quantised(document)
    if key is None:
        return
    if document.kind == "llamafactory":
        if not adapts(document) and document.role not in ("chat", "export"):
            kind = document.settings.get("finetuning_type")
            yield Wrong(says=say("`{key}` with `finetuning_type: {kind}`: quantised weights cannot be trained; use lora, or drop the quantisation", key=key, kind=kind),
                        at=(key,), instead="finetuning_type: lora", edits=(set_to("finetuning_type", value="lora"),))  # fmt: skip
        if document.settings.get("quantization_device_map") == "auto" and document.role == "train":
            yield Wrong(says=say("`quantization_device_map: auto` is for inference: training refuses it"), at=("quantization_device_map",),
                        instead=say("remove `quantization_device_map`"), edits=(drop("quantization_device_map"),), effect="execution")  # fmt: skip
    elif (
        document.kind in ("trl", "axolotl")
        and document.format != "python"
        and not adapts(document)
        and document.role not in ("override", "script")
    ):
        switch = "use_peft" if document.kind == "trl" else "adapter"
        yield Wrong(says=say("`{key}` without adapters: quantised weights cannot be trained", key=key), at=(key,),
                    instead=document.shown(switch, True if switch == "use_peft" else "qlora"), edits=(set_to(switch, value=True if switch == "use_peft" else "qlora"),))  # fmt: skip


RULE = Rule(
    id="TR318",
    name="quantization-needs-adapters",
    level="error",
    status="stable",
    check=check,
    applies="llamafactory trl axolotl",
    effect="experiment",
    what="The model is loaded quantised and trained in full.",
    why="Gradients do not flow into 4-bit weights; LLaMA-Factory and transformers refuse.",
    source=Source(
        kind="measured", ref="llamafactory 0.9.5: `Quantization is only compatible with the LoRA or OFT method.`"
    ),
    fires="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: full\nquantization_bit: 4\n",
    quiet="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nquantization_bit: 4\n",
)
