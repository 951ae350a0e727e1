"""A file that a config names, and that is not there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from papertrain.configs.checking.document import ConfigDocument, Wrong
from papertrain.configs.checking.shell import Command
from papertrain.configs.checking.world import World, datasets, exists, names_in
from papertrain.core.errors import nearest
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source

_NAMES = ("deepspeed", "fsdp_config", "deepspeed_config_file", "reward_model", "chat_template_jinja", "resume_from_checkpoint", "tokenized_path", "lora_model_dir", "adapter_name_or_path", "chat_template_path")  # fmt: skip
_FILES = {"deepspeed", "fsdp_config", "deepspeed_config_file"}


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    for key in _NAMES:
        named = document.settings.get(key)
        if (
            isinstance(named, str)
            and _is_path(named)
            and (key in _FILES or key == "resume_from_checkpoint" or named.startswith(("/", "./", "../", "~")))
            and not (key == "resume_from_checkpoint" and named.lower() in ("true", "false", "last", "latest", "auto"))
            and world.place(document, named) is None
        ):
            yield _missing(document, world, (key,), named, level="error" if key in _FILES else "warning")
    nested = document.at("deepspeed_config", "deepspeed_config_file")
    if (
        document.kind == "accelerate"
        and isinstance(nested, str)
        and _is_path(nested)
        and world.place(document, nested) is None
    ):
        yield _missing(document, world, ("deepspeed_config", "deepspeed_config_file"), nested, level="error")
    if document.kind == "llamafactory" and document.role not in ("export", "chat", "evaluate", "override", "script"):
        yield from _registry(document, world)
    if document.kind == "dataset_info":
        yield from _data(document)
    if document.kind == "axolotl":
        yield from _axolotl(document, world)
    for command in document.commands:
        yield from _commands(document, world, command)


def _is_path(named: str) -> bool:
    return (
        bool(named)
        and "$" not in named
        and "{" not in named
        and "://" not in named
        and "\n" not in named
        and len(named) < 500
    )


# Files that lie in the framework's own repository: who starts there has them.
_SHIPPED = ("examples/deepspeed/", "examples/accelerate/", "deepspeed_configs/", "examples/accelerate_configs/")


def _missing(document: ConfigDocument, world: World, path: tuple[str, ...], named: str, level: str) -> Wrong:
    near = _near(document, world, path, named)
    return Wrong(
        says=say("`{key}` names {file}, which is not there", key=".".join(path), file=named)
        + (say("; nearest is {near}", near=near) if near else ""),
        at=path,
        instead=say("write the file, or correct the path"),
        level="note"
        if document.format == "shell" or named.removeprefix("./").startswith(_SHIPPED)
        else "error"
        if level == "error"
        else "warning",
    )


def _near(document: ConfigDocument, world: World, path: tuple[str, ...], named: str) -> str | None:
    """A file that may have been meant, to be named and never to be written: it reads as what the key wants, and lies
    where the path points, in the folder of the config or in the working folder."""
    if document.path is None or path[-1] not in ("deepspeed", "deepspeed_config_file"):
        return None
    homes = [folder.resolve() for folder in (document.path.parent, Path())]
    places = [p.parent for p in (document.path.parent / named, Path(named)) if p.parent.resolve() in homes]
    names = {name: place / name for place in reversed(places) for name in names_in(place, Path(named).suffix)}
    fitting = [n for n in names if nearest(Path(named).name, [n], cutoff=0.6)]
    right = [n for n in fitting[:20] if any(d.kind == "deepspeed" for d in world.read(names[n]))]
    return nearest(Path(named).name, right, cutoff=0.6)


def _registry(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    """LLaMA-Factory looks for `dataset_info.json` in `dataset_dir`, `data` by default."""
    if not (datasets(document) or datasets(document, "eval_dataset")) or document.path is None:
        return
    folder = world.dataset_folder(document)
    if folder == "ONLINE" or folder.startswith("REMOTE:") or not _is_path(folder):
        return
    path, table = world.registry(document)
    if path is not None and table is None:
        yield Wrong(
            says=say("{file} cannot be read as a table of data sets: `papertrain check {file}` names the line", file=str(path)),
            at=("dataset_dir",) if "dataset_dir" in document.settings else ("dataset",),
            instead=say("mend the JSON"),
            level="error",
        )  # fmt: skip
    if path is not None and table is not None:
        yield from _data_of(document, path, table)
    if path is None:
        default = "dataset_dir" not in document.settings or folder in ("data", "./data", "data/")
        key = (
            "dataset_dir"
            if "dataset_dir" in document.settings
            else "dataset"
            if "dataset" in document.settings
            else "eval_dataset"
        )
        yield Wrong(
            says=say("{folder}/dataset_info.json is not there", folder=folder.rstrip("/"))
            + (say(": it must lie in the folder that training starts from") if default else ""),
            at=(key,),
            instead=say("`dataset_dir`: the folder that holds dataset_info.json"),
            level="note" if default else "error",
        )


def _data_of(document: ConfigDocument, registry: Path, table: dict[str, Any]) -> Iterator[Wrong]:
    """The local files of the data sets that this config uses."""
    for key in ("dataset", "eval_dataset"):
        for name in datasets(document, key):
            entry = table.get(name)
            if not isinstance(entry, dict):
                continue
            file = entry.get("file_name")
            if (
                isinstance(file, str)
                and _is_path(file)
                and not exists(registry.parent / file)
                and not any(
                    k in entry for k in ("hf_hub_url", "ms_hub_url", "om_hub_url", "script_url", "cloud_file_name")
                )
            ):
                yield Wrong(
                    says=say(
                        "data set `{name}` lies in {file}, which is not beside {registry}",
                        name=name,
                        file=file,
                        registry=registry.name,
                    ),
                    at=(key,),
                    instead=say("put the file there, or correct `file_name`"),
                )


def _data(document: ConfigDocument) -> Iterator[Wrong]:
    for name, entry in document.settings.items():
        file = entry.get("file_name") if isinstance(entry, dict) else None
        if (
            not isinstance(file, str)
            or document.path is None
            or not _is_path(file)
            or exists(document.path.parent / file)
        ):
            continue
        near = nearest(Path(file).name, names_in(document.path.parent), cutoff=0.7)
        yield Wrong(
            says=say("`{name}` names {file}, which is not in this folder", name=name, file=file) + (say("; nearest is {near}", near=near) if near else ""),
            at=(name, "file_name"), instead=say("write the file, or correct `file_name`"),
        )  # fmt: skip


def _commands(document: ConfigDocument, world: World, command: object) -> Iterator[Wrong]:
    """The config that a command is given. Scripts run elsewhere too: only a folder that exists can prove a file missing."""
    assert isinstance(command, Command)
    if document.path is None:
        return
    if command.program not in ("llamafactory-cli", "lmf", "axolotl", "trl"):
        yield from _script(document, world, command)
        return
    named = [(w.text, w.line) for w in command.positional if w.text.endswith((".yaml", ".yml", ".json"))]
    named += [
        (str(a.value), a.line)
        for a in command.arguments
        if a.name in ("config", "deepspeed") and isinstance(a.value, str)
    ]
    for file, line in named:
        if _is_path(file) and world.place(document, file) is None:
            yield Wrong(says=say("{program} is given {file}, which is not there from here", program=command.program, file=file), line=line,
                        instead=say("start it in the folder that the path is written for, or correct the path"), level="note")  # fmt: skip


def _script(document: ConfigDocument, world: World, command: Command) -> Iterator[Wrong]:
    """The Python file that a launcher starts, and the DeepSpeed file beside it."""
    if not command.launcher:
        return
    named = [(command.program, command.line)] if command.program.endswith(".py") else []
    named += [(w.text, w.line) for w in command.positional[:1] if w.text.endswith(".py") and not named]
    known = "deepspeed" in {k for d in world.documents if d.file == document.file and d.part for k in d.settings}
    named += [(str(a.value), a.line) for a in command.arguments if a.name in ("deepspeed", "deepspeed_config") and isinstance(a.value, str) and a.value.endswith(".json") and not known]  # fmt: skip
    for file, line in named:
        if _is_path(file) and world.place(document, file) is None:
            yield Wrong(says=say("the command is given {file}, which is not there from here", file=file), line=line,
                        instead=say("start it in the folder that the path is written for, or correct the path"), level="note")  # fmt: skip


def _axolotl(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    listed = document.settings.get("datasets")
    for i, row in enumerate(listed if isinstance(listed, list) else []):
        named = row.get("path") if isinstance(row, dict) else None
        local = isinstance(named, str) and (
            named.startswith(("./", "../", "/", "~/"))
            or named.lower().endswith((".jsonl", ".json", ".csv", ".parquet"))
        )
        if isinstance(named, str) and local and _is_path(named) and world.place(document, named) is None:
            yield Wrong(says=say("`path` names {file}, which is not there", file=named), line=document.line("datasets", i, "path"),
                        instead=say("write the file, or correct the path"), level="warning")  # fmt: skip


RULE = Rule(
    id="TR307",
    name="missing-file",
    level="error",
    status="stable",
    check=check,
    applies="llamafactory trl axolotl trainer accelerate dataset_info command slurm",
    what="A config names a file that does not exist.",
    why="The run stops when it gets there, which for a DeepSpeed file is before, and for a data set after the model is loaded.",
    known_problems="Paths are looked for in the working folder, beside the config and in the five folders above it; a path for another machine looks missing.",
    source=Source(kind="rule", ref="a file that is opened must exist"),
    fires="== sft.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\ndeepspeed: ds_z3.json\n",
    quiet='== sft.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\ndeepspeed: ds_z2.json\n== ds_z2.json\n{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}\n',
)
