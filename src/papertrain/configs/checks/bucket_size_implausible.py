"""Communication buckets that are far too small, or larger than what the card has left."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, number, set_to
from papertrain.configs.checking.world import World
from papertrain.configs.checks._common import stage
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.units import show_bytes
from papertrain.core.values import Source

SMALL, USUAL = 100_000, 500_000_000
BYTES_PER_ELEMENT = 2
SHARE = 0.25


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    card = world.compute.gpu if world.compute else None
    for key in ("reduce_bucket_size", "allgather_bucket_size", "stage3_prefetch_bucket_size"):
        value = number(document.at("zero_optimization", key))
        if value is None or value <= 0:
            continue
        # Stage 3 derives 0.9 × hidden² for its prefetch, which is small for small models.
        if value < SMALL and stage(document) in (1, 2):
            yield Wrong(says=say("`{key}` is {n:,.0f} elements: thousands of tiny messages per step; it counts elements, not megabytes", key=key, n=value), at=("zero_optimization", key),
                        instead=f'"{key}": {USUAL}', edits=(set_to("zero_optimization", key, value=USUAL),))  # fmt: skip
        elif card is not None and value * BYTES_PER_ELEMENT > SHARE * card.memory_bytes:
            yield Wrong(says=say("`{key}` is {n:.3g} elements, {size} of the card's {memory}", key=key, n=value, size=show_bytes(value * BYTES_PER_ELEMENT), memory=show_bytes(card.memory_bytes)),
                        at=("zero_optimization", key), instead=f'"{key}": {USUAL}', edits=(set_to("zero_optimization", key, value=USUAL),))  # fmt: skip


RULE = Rule(
    id="TR340",
    name="bucket-size-implausible",
    level="warning",
    status="stable",
    check=check,
    applies="deepspeed",
    what="A DeepSpeed bucket that is far smaller, or larger, than what it is made for.",
    why="The size is in elements: 500 for 500 MB makes millions of messages; 5e10 takes the memory that the model needs.",
    source=Source(kind="code", ref="deepspeed 0.19.8 runtime/zero/config.py: number of elements, default 5e8"),
    fires='== ds.json\n{"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 2, "reduce_bucket_size": 500}}\n',
    quiet='== ds.json\n{"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 2, "reduce_bucket_size": 5e8}}\n',
)
