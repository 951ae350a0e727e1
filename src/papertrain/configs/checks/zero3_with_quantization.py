"""ZeRO-3 or FSDP with a model loaded in 4 or 8 bits."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong
from papertrain.configs.checking.world import World
from papertrain.configs.checks._common import quantised, zero_stage
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    key = quantised(document)
    if key is None or zero_stage(document, world) != 3 or document.role in ("chat", "export"):
        return
    # Since bitsandbytes 0.43 the 4-bit weights can be stored in the compute type, which ZeRO-3 can shard.
    stored = (
        document.kind == "llamafactory"
        and document.settings.get("quantization_bit") == 4
        and document.settings.get("quantization_method", "bnb") == "bnb"
    )
    says = (
        say(
            "ZeRO-3 with `{key}: 4`: every card loads the whole model before it is sharded, and bitsandbytes 0.43 or newer is needed; ZeRO-2 does as well for most",
            key=key,
        )
        if stored
        else say(
            "ZeRO-3 shards the weights, and `{key}` packs them: they do not go together; use ZeRO-2 or no DeepSpeed",
            key=key,
        )
    )
    yield Wrong(
        says=says, at=("deepspeed",), instead=say("a ZeRO-2 file, or remove `deepspeed`: a quantised model usually fits on one card"),
        level="warning" if stored else "error",
    )  # fmt: skip


RULE = Rule(
    id="TR314",
    name="zero3-with-quantization",
    level="error",
    status="stable",
    check=check,
    applies="llamafactory trl axolotl trainer",
    effect="execution",
    what="The model is loaded in 4 or 8 bits, and DeepSpeed ZeRO-3 shards it.",
    why="transformers refuses a `device_map` under ZeRO-3, and LLaMA-Factory refuses 8 bits and every method but bitsandbytes.",
    known_problems="4 bits with bitsandbytes run in LLaMA-Factory 0.9.5: a warning there.",
    source=Source(
        kind="code",
        ref="llamafactory 0.9.5 model/model_utils/quantization.py; transformers 4.57.6 modeling_utils.py: `DeepSpeed Zero-3 is not compatible with passing a device_map`",
    ),
    fires='== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nquantization_bit: 4\ndeepspeed: z3.json\n== z3.json\n{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 3}}\n',
    quiet='== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nquantization_bit: 4\ndeepspeed: z2.json\n== z2.json\n{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}\n',
)
