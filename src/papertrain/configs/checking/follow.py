"""The files that the files of a check name: a config that a script starts, its DeepSpeed file, its entries of the registry."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec import structs

from papertrain.configs.checking.document import TRAINERS, ConfigDocument
from papertrain.configs.checking.shell import Command
from papertrain.configs.checking.world import World, datasets

AT_MOST = 100
_CONFIGS = (".yaml", ".yml", ".json")
_STARTED = ("llamafactory", "trl", "axolotl", "accelerate")


def followed(world: World) -> list[ConfigDocument]:
    """Documents of other files than those that were named, each once; a registry holds only the entries that are used."""
    seen = {_key(d.path) for d in world.documents if d.path}
    found: list[ConfigDocument] = []
    queue = list(world.documents)
    while queue and len(found) < AT_MOST:
        for other in _named_by(queue.pop(0), world):
            if other.path is None or (key := _key(other.path)) in seen:
                continue
            seen.add(key)
            found.append(other)
            queue.append(other)
    return found


def _named_by(document: ConfigDocument, world: World) -> Iterator[ConfigDocument]:
    if document.format == "shell":
        for command in document.commands:
            if isinstance(command, Command):
                yield from _started(document, command, world)
    inner = world.deepspeed(document) if document.kind in TRAINERS else None
    if inner is not None and inner.path != document.path:
        yield inner
    if document.kind == "llamafactory":
        yield from _entries(document, world)


def _started(document: ConfigDocument, command: Command, world: World) -> Iterator[ConfigDocument]:
    for word in command.positional:
        if word.text.endswith(_CONFIGS) and (path := world.place(document, word.text)) is not None and path.is_file():
            yield from (d for d in world.read(path) if d.kind in _STARTED)


def _entries(document: ConfigDocument, world: World) -> Iterator[ConfigDocument]:
    path, table = world.registry(document)
    used = [n for key in ("dataset", "eval_dataset") for n in datasets(document, key) if n in (table or {})]
    if path is None or not used:
        return
    for registry in world.read(path):
        if registry.kind == "dataset_info":
            entries = {k: v for k, v in registry.settings.items() if k in used}
            yield structs.replace(registry, settings=entries, oddities=())


def _key(path: Path) -> Path:
    return path.resolve()
