"""A template that LLaMA-Factory does not have."""

from __future__ import annotations

import re
from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, set_to
from papertrain.configs.checking.world import World
from papertrain.configs.checks.wrong_template import known_model, template_of
from papertrain.core.errors import nearest
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source

_HUB = re.compile(r"(?!saves/|models?/|outputs?/|checkpoints?/|ckpts?/|data/)[A-Za-z0-9][\w.-]*/[\w.-]+")


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    used = document.settings.get("template")
    known = world.framework(document).more["templates"]
    if not isinstance(used, str) or used in known or "$" in used:
        return
    model = document.get("model_name_or_path") or world.model
    right = (template_of(model) if isinstance(model, str) else None) or nearest(used, known, cutoff=0.75)
    # A template that resembles none, for a hub repository that is not on record: both may be newer than the record.
    stranger = right is None and isinstance(model, str) and _HUB.fullmatch(model) is not None and not known_model(model)
    near = right or "default"
    yield Wrong(
        says=say(
            "template `{used}` does not exist in LLaMA-Factory {version}: write `template: {near}`",
            used=used,
            version=world.framework(document).version,
            near=near,
        ),
        at=("template",),
        instead=f"template: {near}",
        edits=(set_to("template", value=near),) if right else (),
        level="warning" if stranger else "error",
    )


RULE = Rule(
    id="TR306",
    name="unknown-template",
    level="error",
    status="stable",
    check=check,
    effect="experiment",
    applies="llamafactory",
    what="The named chat template is not registered.",
    why="No parser checks the name: the run stops with `Template … does not exist` after the model is loaded.",
    known_problems="A template that you registered yourself looks unknown: silence the line.",
    source=Source(
        kind="measured",
        ref="llamafactory 0.9.5: get_train_args accepts template=nope; ValueError `Template nope does not exist.` at run",
    ),
    fires="== t.yaml\nstage: sft\ntemplate: qwen25\nfinetuning_type: lora\nmodel_name_or_path: Qwen/Qwen2.5-7B-Instruct\n",
    quiet="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nmodel_name_or_path: Qwen/Qwen2.5-7B-Instruct\n",
)
