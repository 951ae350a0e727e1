"""A name that the version at hand has given up for another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from papertrain.configs.checking.document import ConfigDocument, Edit, Wrong, rename
from papertrain.configs.checking.world import World
from papertrain.configs.checks._keys import beside, keys
from papertrain.configs.checks._weight import weighs
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Level, Source
from papertrain.facts.frameworks.load import Rename, framework, release, renamed


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    table = keys(document, world)
    for name, value in document.settings.items():
        if (change := renamed(document.kind, name)) is None or not change.new or name in beside(document):
            continue
        if name in table and not (change.reads or document.kind == "axolotl"):
            continue
        if change.new not in table and not change.reads:
            continue
        level: Level = (
            "warning" if change.reads or document.kind == "axolotl" or still_read(document, world, name) else "error"
        )
        new = change.new
        written = new_value(change, value)
        yield Wrong(
            says=say(
                "`{old}` is gone in {reader}: write `{setting}`",
                old=name,
                reader=reader(document, world, change),
                setting=document.shown(new, written),
            )
            + (f" ({change.note})" if change.note else ""),
            at=(name,),
            instead=document.shown(new, written),
            edits=edits(document, name, change, written),
            level=level,
            effect="experiment" if _alters(document, name, change) else None,
        )


def _alters(document: ConfigDocument, name: str, change: Rename) -> bool:
    """Whether the new name makes a setting count that did not, or drops one of two values."""
    old, new = document.settings[name], document.settings.get(change.new)
    if not weighs(change.new):
        return False
    return (new is not None and new != old) or (document.kind == "axolotl" and not change.reads)


def reader(document: ConfigDocument, world: World, change: Rename) -> str:
    """The release that a person would look up: `transformers 5.6.0 (LLaMA-Factory 0.9.5)`."""
    known = world.framework(document)
    names = {
        "llamafactory": "LLaMA-Factory",
        "trl": "TRL",
        "axolotl": "Axolotl",
        "deepspeed": "DeepSpeed",
        "trainer": "transformers",
    }
    own = f"{names[document.kind]} {known.version}"
    below = world.version("transformers") or known.built_on.get("transformers")
    text = (
        f"transformers {below} ({own})"
        if change.package == "transformers" and document.kind != "trainer" and below
        else own
    )
    return text + (say(", last read by {last}", last=change.last) if change.last and document.kind != "axolotl" else "")


def still_read(document: ConfigDocument, world: World, name: str) -> bool:
    """Whether the line before transformers 5 reads it, where the version at hand is unknown and both lines are in use."""
    package = {"trainer": "transformers"}.get(document.kind, document.kind)
    if document.kind not in ("trl", "trainer") or world.version(package) or world.version("transformers"):
        return False
    before = {"transformers": "4.57.6", "trl": "0.24.0"}[package]
    return name in framework(package, before).known() and release(framework(package).version) > release(before)


def new_value(change: Rename, value: Any) -> Any:
    kind, _, word = change.value.partition(":")
    if kind == "text":
        return True if word == "true" else word
    return [word] if kind == "list" else value


def edits(document: ConfigDocument, name: str, change: Rename, written: Any) -> tuple[Edit, ...]:
    if (
        change.new in document.settings
        or change.value == "drop"
        or (change.value != "same" and document.settings[name] is False)
    ):
        return (Edit(op="drop", path=(name,)),)
    if change.value == "same":
        return (rename(name, new=change.new),)
    return (Edit(op="set", path=(name,), value=written), rename(name, new=change.new))


RULE = Rule(
    id="TR211",
    name="renamed-argument",
    level="error",
    status="stable",
    check=check,
    applies="llamafactory trl axolotl trainer deepspeed",
    what="A name that the version at hand no longer reads; the same setting has another name now.",
    why="Examples on the web are older than the installed version; the run stops at the first such name.",
    known_problems="Without --env the newest version on record is taken; where the line before transformers 5 still reads the name, it is a warning.",
    source=Source(
        kind="code", ref="training_args.py of transformers 4.40.2, 4.46.3, 4.52.4, 4.57.6, 5.6.0 and 5.24.0, compared"
    ),
    fires="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nevaluation_strategy: steps\n",
    quiet="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\neval_strategy: steps\nval_size: 0.1\n",
)
