"""A name that the version at hand has given up for nothing."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, drop
from papertrain.configs.checking.world import World
from papertrain.configs.checks._keys import beside, ever, keys
from papertrain.configs.checks._weight import weighs
from papertrain.configs.checks.renamed_argument import reader, still_read
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source
from papertrain.facts.frameworks.load import Rename, history, release, renamed


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if document.role == "script" and not world.version("transformers"):
        return
    table = keys(document, world)
    old = ever(document)
    for name in document.settings:
        change = renamed(document.kind, name)
        if name in table or name in beside(document) or (change and change.new and change.new in table):
            continue
        if change is None and name not in old:
            continue
        package = {"trainer": "transformers"}.get(document.kind, document.kind)
        last, first = history(package, name)
        if first and release(first) > release(world.framework(document).version):
            continue
        change = change or Rename(old=name, package=package, kinds=(document.kind,), last=last or "")
        yield Wrong(
            says=say("`{old}` is gone in {reader}: remove it", old=name, reader=reader(document, world, change))
            + (f" ({change.note})" if change.note else ""),
            at=(name,),
            instead=say("remove `{key}`", key=name),
            edits=(drop(name),),
            effect="experiment" if weighs(name) else None,
            level="warning" if still_read(document, world, name) or (change.soft and not world.versions) else "error",
        )


RULE = Rule(
    id="TR210",
    name="removed-argument",
    level="error",
    status="stable",
    check=check,
    applies="llamafactory trl trainer",
    what="A name that the version at hand no longer reads, and that nothing replaced.",
    why="The run stops with `unexpected keyword argument`, or with a list of unused keys.",
    source=Source(
        kind="code",
        ref="training_args.py of transformers 4.40.2 to 5.24.0; trl 0.24.0 and 1.16.0; llamafactory 0.9.3 and 0.9.5, compared",
    ),
    fires="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nsave_safetensors: true\n",
    quiet="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\noverwrite_output_dir: true\n",
)
