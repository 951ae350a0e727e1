"""The run needs more memory than the stated cards have."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong
from papertrain.configs.checking.memory import case
from papertrain.configs.checking.world import World
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.units import show_bytes
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    row = case(document, world) if world.estimator else None
    answer = world.estimator(row) if world.estimator and row else None
    if row is None or answer is None or world.compute is None:
        return
    needed, card = answer["device_bytes"], world.compute.gpu
    if answer["fits"] in ("no", "tight"):
        key = document.name("per_device_train_batch_size")
        verdict = say("it does not fit") if answer["fits"] == "no" else say("it may not fit")
        yield Wrong(
            says=say("about {needed} a card ({low} to {high}) of {memory}: {verdict}", needed=show_bytes(needed["value"]), low=show_bytes(needed["low"]), high=show_bytes(needed["high"]),
                     memory=show_bytes(card.memory_bytes), verdict=verdict),
            at=(key,) if key in document.settings else (), line=0 if key in document.settings else document.start,
            instead=say("ways that fit: papertrain plan {model} --gpu \"{n}x {card}\"", model=row["model"], n=world.compute.gpus_per_node, card=card.id),
            level="error" if answer["fits"] == "no" else "note",
        )  # fmt: skip


RULE = Rule(
    id="TR360",
    name="does-not-fit",
    level="error",
    status="stable",
    check=check,
    applies="llamafactory trl axolotl trainer",
    what="The planner expects more memory than a card has.",
    why="CUDA out of memory, often not at once: at the longest batch, the first evaluation, or the save.",
    known_problems="Needs --gpu and a model on record or in a local folder. An estimate with its 90 % range; only a low end above the card is called an error.",
    source=Source(
        kind="measured", ref="the planner's memory model, held against published measurements (papertrain estimate)"
    ),
    fires="== with gpu=1x RTX 4090\n== t.yaml\nstage: sft\ndo_train: true\ntemplate: qwen\nfinetuning_type: full\nmodel_name_or_path: Qwen/Qwen2.5-7B-Instruct\ndataset: identity\noutput_dir: o\nbf16: true\nper_device_train_batch_size: 4\n",
    quiet="== with gpu=1x A100-80GB\n== t.yaml\nstage: sft\ndo_train: true\ntemplate: qwen\nfinetuning_type: lora\nmodel_name_or_path: Qwen/Qwen2.5-7B-Instruct\ndataset: identity\noutput_dir: o\nbf16: true\nper_device_train_batch_size: 1\n",
)
