"""ZeRO-3 or FSDP with a model loaded in 4 or 8 bits."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, drop
from papertrain.configs.checking.world import World
from papertrain.configs.checks._common import quantised, zero_stage
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    key = quantised(document)
    if key is None or zero_stage(document, world) != 3:
        return
    yield Wrong(
        says=say("ZeRO-3 shards the weights, and `{key}` packs them: they do not go together; use ZeRO-2 or no DeepSpeed", key=key),
        at=("deepspeed",), instead=say("a ZeRO-2 file, or remove `deepspeed`: a quantised model usually fits on one card"), edits=(drop("deepspeed"),),
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
    why="Loading stops with `DeepSpeed Zero-3 is not compatible with low_cpu_mem_usage=True or with passing a device_map`.",
    known_problems="peft documents a narrow path for QLoRA with ZeRO-3 (bnb_4bit_quant_storage set to the compute type); the rule does not know it is meant.",
    source=Source(
        kind="code",
        ref="transformers modeling_utils.py, from_pretrained with a quantization config under ZeRO-3; llamafactory 0.9.5 model/model_utils/quantization.py",
    ),
    fires='== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nquantization_bit: 4\ndeepspeed: z3.json\n== z3.json\n{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 3}}\n',
    quiet='== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nquantization_bit: 4\ndeepspeed: z2.json\n== z2.json\n{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}\n',
)
