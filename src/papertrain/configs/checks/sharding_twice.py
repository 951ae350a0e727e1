"""FSDP and DeepSpeed at once."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong
from papertrain.configs.checking.world import World
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if document.kind == "accelerate":
        kind = document.settings.get("distributed_type")
        for key, belongs in (("deepspeed_config", "DEEPSPEED"), ("fsdp_config", "FSDP")):
            if (
                document.settings.get(key)
                and isinstance(kind, str)
                and kind in ("DEEPSPEED", "FSDP", "MULTI_GPU", "NO")
                and kind != belongs
            ):
                yield Wrong(
                    says=say(
                        "`{key}` is not read with `distributed_type: {kind}`: write {belongs}",
                        key=key,
                        kind=kind,
                        belongs=belongs,
                    ),
                    at=(key,),
                    instead=f"distributed_type: {belongs}",
                    level="warning",
                )
        return
    fsdp = next((k for k in ("fsdp", "fsdp_config") if document.settings.get(k)), None)
    if fsdp and document.settings.get("deepspeed"):
        yield Wrong(
            says=say("`{fsdp}` and `deepspeed` both shard the model: one of them", fsdp=fsdp),
            at=("deepspeed",),
            instead=say("remove `{fsdp}`, or remove `deepspeed`", fsdp=fsdp),
        )


RULE = Rule(
    id="TR339",
    name="sharding-twice",
    level="error",
    status="stable",
    check=check,
    applies="llamafactory trl axolotl trainer accelerate",
    what="Both FSDP and DeepSpeed are configured.",
    why="accelerate can prepare a model for one of them only.",
    source=Source(
        kind="code",
        ref="axolotl 0.19.0 utils/schemas/validation.py: `deepspeed and fsdp cannot be used together`",
    ),
    fires='== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: full\nfsdp: full_shard auto_wrap\ndeepspeed: z2.json\n== z2.json\n{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}\n',
    quiet='== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: full\ndeepspeed: z2.json\n== z2.json\n{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}\n',
)
