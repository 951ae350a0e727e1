"""A DeepSpeed file without any batch size."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, set_to
from papertrain.configs.checking.world import World
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if (
        document.path is None
        or world.trainers_of(document)
        or "train_batch_size" in document.settings
        or "train_micro_batch_size_per_gpu" in document.settings
    ):
        return
    yield Wrong(
        says=say("neither `train_batch_size` nor `train_micro_batch_size_per_gpu` is given: plain DeepSpeed stops, the HF Trainer fills it in"), line=1,
        instead='"train_micro_batch_size_per_gpu": "auto"', edits=(set_to("train_micro_batch_size_per_gpu", value="auto"),),
    )  # fmt: skip


RULE = Rule(
    id="TR213",
    name="no-batch-size",
    level="note",
    status="stable",
    check=check,
    applies="deepspeed",
    what="A DeepSpeed file that states no batch size.",
    why="DeepSpeed: `Either train_batch_size or train_micro_batch_size_per_gpu needs to be provided`.",
    known_problems="Only a note: most such files are read by the Trainer, which writes its own batch size into them.",
    source=Source(kind="measured", ref="deepspeed 0.19.8 DeepSpeedConfig"),
    fires='== ds.json\n{"zero_optimization": {"stage": 2}, "steps_per_print": 10}\n',
    quiet='== ds.json\n{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}\n',
)
