"""Offload to a host that has not the memory for it."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong
from papertrain.configs.checking.world import World
from papertrain.configs.checks._common import adapts
from papertrain.core.errors import PapertrainError
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.units import show_size
from papertrain.core.values import Source

# Adam in fp32 on the host: master weights, two moments; offloaded parameters in 16 bits beside them.
OPTIMIZER_BYTES, PARAMETER_BYTES = 12, 2


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    host = world.compute.host_memory_bytes if world.compute else None
    below = world.deepspeed(document)
    if host is None or below is None or adapts(document):
        return
    parameters = _parameters(document, world)
    if parameters is None:
        return
    per_parameter = sum(
        size
        for part, size in (("offload_optimizer", OPTIMIZER_BYTES), ("offload_param", PARAMETER_BYTES))
        if below.at("zero_optimization", part, "device") == "cpu"
    )
    nodes = world.compute.nodes if world.compute else 1
    needed = parameters * per_parameter / nodes
    if per_parameter and needed > host:
        yield Wrong(
            says=say("the offload puts about {needed} on the host of each node, which has {host}: the run is killed without a word", needed=show_size(needed), host=show_size(host)),
            at=("deepspeed",), instead=say("more cards with ZeRO-3 and no offload, adapters, or a host with more memory"), effect="execution",
        )  # fmt: skip


def _parameters(document: ConfigDocument, world: World) -> int | None:
    from papertrain.facts.models import find_model

    named = document.get("model_name_or_path") or world.model
    try:
        return find_model(named).parameters if isinstance(named, str) else None
    except PapertrainError:
        return None


RULE = Rule(
    id="TR345",
    name="offload-without-host-memory",
    level="error",
    status="stable",
    check=check,
    applies="llamafactory trl axolotl trainer",
    what="CPU offload needs more host memory than one machine is stated to have.",
    why="The kernel ends the process (exit code 137), often at the first optimizer step or while saving.",
    known_problems="Needs --host-ram, --gpu and a model on record; pinned buffers and the loading peak come on top. `papertrain plan` counts them.",
    source=Source(
        kind="assumed",
        ref="arXiv:1910.02054 (ZeRO), from memory: 12 bytes of fp32 master weights and Adam states per parameter",
    ),
    fires='== with gpu=8x A100-80GB,host_ram=64000000000\n== t.yaml\nstage: sft\ndo_train: true\ntemplate: qwen\nfinetuning_type: full\nmodel_name_or_path: Qwen/Qwen2.5-7B-Instruct\ndataset: identity\noutput_dir: o\ndeepspeed: z.json\n== z.json\n{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}}\n',
    quiet='== with gpu=8x A100-80GB,host_ram=512000000000\n== t.yaml\nstage: sft\ndo_train: true\ntemplate: qwen\nfinetuning_type: full\nmodel_name_or_path: Qwen/Qwen2.5-7B-Instruct\ndataset: identity\noutput_dir: o\ndeepspeed: z.json\n== z.json\n{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}}\n',
)
