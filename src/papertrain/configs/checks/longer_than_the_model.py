"""A sequence longer than the model has positions for."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, set_to
from papertrain.configs.checking.world import World
from papertrain.core.errors import PapertrainError
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    length = document.integer("cutoff_len")
    named = document.get("model_name_or_path") or world.model
    if (
        length is None
        or length < 4096
        or not isinstance(named, str)
        or document.settings.get("rope_scaling")
        or document.role == "script"
    ):
        return
    from papertrain.facts.models import find_model

    try:
        most = find_model(named).max_positions
    except PapertrainError:
        return
    if most is not None and length > most:
        key = document.name("cutoff_len")
        yield Wrong(says=say("`{key}` is {length:,}, and {model} has {most:,} positions: what lies behind them was never learned", key=key, length=length, model=named.rpartition("/")[2], most=most), at=(key,),
                    instead=document.shown("cutoff_len", most), edits=(set_to(key, value=most),))  # fmt: skip


RULE = Rule(
    id="TR355",
    name="longer-than-the-model",
    level="warning",
    status="stable",
    check=check,
    applies="llamafactory axolotl trl",
    effect="experiment",
    what="The sequence length exceeds the model's positions.",
    why="Absolute positions run out with an index error; rotary ones go on and mean nothing.",
    known_problems="Only models on record, or in a local folder.",
    source=Source(kind="code", ref="max_position_embeddings in the model's config.json"),
    fires="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nmodel_name_or_path: Qwen/Qwen2.5-7B-Instruct\ncutoff_len: 65536\n",
    quiet="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nmodel_name_or_path: Qwen/Qwen2.5-7B-Instruct\ncutoff_len: 8192\n",
)
