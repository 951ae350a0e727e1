"""Parameters are offloaded, and ZeRO-3 is not on."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong
from papertrain.configs.checking.world import World
from papertrain.configs.checks._common import stage
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if document.kind == "accelerate":
        device, now = (
            document.at("deepspeed_config", "offload_param_device"),
            document.at("deepspeed_config", "zero_stage"),
        )
        if isinstance(device, str) and device != "none" and isinstance(now, int) and now < 3:
            yield Wrong(says=say("`offload_param_device` needs `zero_stage: 3`; it is {now}", now=now), at=("deepspeed_config", "offload_param_device"),
                        instead=say("`zero_stage: 3`, or `offload_param_device: none`"))  # fmt: skip
        return
    device = document.at("zero_optimization", "offload_param", "device")
    now = stage(document)
    if document.at("zero_optimization", "offload_param") is None or device in (None, "none") or now == 3:
        return
    yield Wrong(
        says=say(
            "`offload_param` needs stage 3; at stage {now} DeepSpeed parses it, and the parameters stay on the card",
            now=now if now is not None else 0,
        ),
        at=("zero_optimization", "offload_param"),
        instead=say('remove `offload_param`, or "stage": 3'),
    )


RULE = Rule(
    id="TR315",
    name="param-offload-needs-stage3",
    level="error",
    status="stable",
    check=check,
    applies="deepspeed accelerate",
    what="`offload_param` with a ZeRO stage below 3.",
    why="Only stage 3 partitions parameters: below it the memory that was counted on is not freed.",
    source=Source(kind="measured", ref="deepspeed 0.19.8 DeepSpeedConfig accepts offload_param with stage 2"),
    fires='== ds.json\n{"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 2, "offload_param": {"device": "cpu"}}}\n',
    quiet='== ds.json\n{"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}}}\n',
)
