"""Offload to NVMe without a place."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong
from papertrain.configs.checking.world import World
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    for part in ("offload_optimizer", "offload_param"):
        if document.at("zero_optimization", part, "device") == "nvme" and not document.at(
            "zero_optimization", part, "nvme_path"
        ):
            yield Wrong(
                says=say("`{part}` goes to nvme, and no `nvme_path` says where", part=part),
                at=("zero_optimization", part, "device"),
                instead='"nvme_path": "/local_nvme"',
            )


RULE = Rule(
    id="TR338",
    name="nvme-without-path",
    level="error",
    status="stable",
    check=check,
    applies="deepspeed",
    what="Offload to NVMe without `nvme_path`.",
    why="The parser accepts it; the run stops when the swapper is built.",
    source=Source(kind="measured", ref="deepspeed 0.19.8 DeepSpeedConfig accepts nvme without path"),
    fires='== ds.json\n{"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 3, "offload_param": {"device": "nvme"}}}\n',
    quiet='== ds.json\n{"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 3, "offload_param": {"device": "nvme", "nvme_path": "/nvme"}}}\n',
)
