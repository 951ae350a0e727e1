"""A file named under `deepspeed:` that is something else, or that cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from papertrain.configs.checking.document import ConfigDocument, Wrong
from papertrain.configs.checking.world import World
from papertrain.core import yaml
from papertrain.core.errors import PapertrainError
from papertrain.core.files import read_text
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source
from papertrain.facts.frameworks.load import framework

LIMIT = 2 * 2**20


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    for at in (("deepspeed",), ("deepspeed_config", "deepspeed_config_file")):
        named = document.at(*at)
        path = world.place(document, named) if isinstance(named, str) and named and len(named) < 500 else None
        if path is None:
            continue
        if why := _not_one(path):
            yield Wrong(
                says=say("`{key}` names {file}, which is no DeepSpeed config: {why}", key=at[-1], file=named, why=why),
                at=at,
                instead=say("a DeepSpeed JSON file"),
            )


def _not_one(path: Path) -> str:
    """What the file is instead; empty for a DeepSpeed config."""
    try:
        text = read_text(path, limit=LIMIT)
        value: Any = (yaml.load if path.suffix.lower() in (".yaml", ".yml") else yaml.load_json)(text, path.name).value
    except PapertrainError as error:
        return say("{error} (line {line})", error=error.says, line=error.line) if error.line else error.says
    if not isinstance(value, dict):
        return say("it holds rows, not settings") if isinstance(value, list) else say("it holds no settings")
    if not set(map(str, value)) & set(framework("deepspeed").sections["top"]):
        return say("none of its keys is DeepSpeed's ({keys})", keys=", ".join(sorted(map(str, value))[:4]) or "{}")
    return ""


RULE = Rule(
    id="TR353",
    name="not-a-deepspeed-config",
    level="error",
    status="stable",
    check=check,
    applies="llamafactory trl axolotl trainer accelerate",
    what="The file under `deepspeed` is not a DeepSpeed config.",
    why="The run stops after the model is loaded, or trains with DeepSpeed's defaults, which shard nothing.",
    source=Source(
        kind="code", ref="deepspeed 0.19.8 runtime/config.py, DeepSpeedConfig: reads the file as JSON; keys of `top`"
    ),
    fires='== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\ndeepspeed: dataset_info.json\n== dataset_info.json\n{"a": {"file_name": "a.json"}}\n',
    quiet='== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\ndeepspeed: z2.json\n== z2.json\n{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}\n',
)
