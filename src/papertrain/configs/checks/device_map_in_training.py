"""`device_map: auto` in a distributed training."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, drop
from papertrain.configs.checking.world import World
from papertrain.configs.checks._common import SHARDED
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if document.settings.get("device_map") not in ("auto", "balanced", "sequential"):
        return
    how = next((k for k in SHARDED if document.settings.get(k)), None)
    if how or (world.world_size or 0) > 1:
        yield Wrong(says=say("`device_map: {value}` spreads one model over all cards, and {how} puts one on each: they do not go together", value=document.settings["device_map"],
                             how=f"`{how}`" if how else say("a run with several processes")), at=("device_map",), instead=say("remove `device_map`"), edits=(drop("device_map"),),
                    level="error" if how else "warning")  # fmt: skip


RULE = Rule(
    id="TR343",
    name="device-map-in-training",
    level="error",
    status="stable",
    check=check,
    applies="axolotl trl trainer",
    what="`device_map` together with DeepSpeed, FSDP or several processes.",
    why="`You can't train a model that has been loaded with device_map='auto' in any distributed mode`.",
    source=Source(
        kind="code",
        ref="accelerate 1.15.0 accelerator.py, prepare_model; transformers 4.57.6 modeling_utils.py for ZeRO-3",
    ),
    fires='== a.yaml\nbase_model: m\nsequence_len: 512\nmicro_batch_size: 1\ndatasets: [{path: d, type: alpaca}]\ndevice_map: auto\ndeepspeed: z3.json\n== z3.json\n{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 3}}\n',
    quiet="== a.yaml\nbase_model: m\nsequence_len: 512\nmicro_batch_size: 1\ndatasets: [{path: d, type: alpaca}]\n",
)
