"""A variable that the launcher does not read."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, swap
from papertrain.configs.checking.shell import Command
from papertrain.configs.checking.world import World
from papertrain.configs.checks._launch import (
    DISTRIBUTED,
    LLAMAFACTORY,
    LLAMAFACTORY_READS,
    MEANT,
    commands,
    nodes,
    processes_per_node,
)
from papertrain.core.errors import nearest
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Effect, Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    seen: set[str] = set()
    for command in commands(document):
        if command.program not in LLAMAFACTORY:
            continue
        for name, (value, line) in command.env.items():
            if name in LLAMAFACTORY_READS or name in seen or (meant := _meant(name, command)) is None:
                continue
            if _used(document, name):
                continue
            seen.add(name)
            yield _wrong(name, meant, value, line, command)
    yield from _not_exported(document)
    yield from _not_torchruns(document)
    if document.kind == "environment":
        yield from _block(document)


# What a person sets for torchrun, and how torchrun is told.
OPTIONS = {"NNODES": "nnodes", "NODE_RANK": "node_rank", "NPROC_PER_NODE": "nproc_per_node"}


def _not_torchruns(document: ConfigDocument) -> Iterator[Wrong]:
    """torchrun reads no NNODES, and it sets WORLD_SIZE itself."""
    seen: set[str] = set()
    for command in commands(document):
        if command.launcher != "torchrun":
            continue
        for name, (value, line) in command.env.items():
            if name in seen or not value.isdigit() or _used(document, name):
                continue
            option = OPTIONS.get(name)
            if (
                option
                and int(value) > (0 if name == "NODE_RANK" else 1)
                and option not in command.options
                and "standalone" not in command.options
            ):
                seen.add(name)
                yield Wrong(
                    says=say("torchrun does not read `{name}`: write `--{option} {value}`", name=name, option=option, value=value), line=line,
                    instead=f"--{option} {value}", level="warning", effect=_effect(name),
                )  # fmt: skip
            started = _started(command)
            if name == "WORLD_SIZE" and started is not None and int(value) != started:
                seen.add(name)
                yield Wrong(
                    says=say("torchrun sets `WORLD_SIZE` for each process, {n} here: {value} is not kept", n=started, value=value), line=line,
                    instead=say("remove `{name}`", name=name), level="warning",
                )  # fmt: skip


def _started(command: Command) -> int | None:
    """How many processes torchrun starts on all nodes, as far as the command says it in numbers."""
    each, machines = processes_per_node(command)[0], nodes(command)[0]
    if "nproc_per_node" not in command.options:
        each = 1
    if "nnodes" not in command.options:
        machines = 1
    return each * machines if each and machines else None


def _block(document: ConfigDocument) -> Iterator[Wrong]:
    """An environment block without a command: `NNODES` tells that it is for a launcher, `WORLD_SIZE` that it is for none."""
    names = document.settings
    if "NNODES" not in names or "WORLD_SIZE" in names:
        return
    for name, meant in MEANT.items():
        if name in names and meant not in names and not _used(document, name):
            line, value = document.line(name), names[name]
            yield Wrong(
                says=say("`{name}` is read by no launcher that reads `NNODES`: write `{meant}={value}`", name=name, meant=meant, value=value),
                line=line, instead=f"{meant}={value}", edits=(swap(line, f"{name}=", f"{meant}="),),
                effect=_effect(meant),
            )  # fmt: skip


def _meant(name: str, command: Command) -> str | None:
    """The variable that was meant, for names that look like the launcher's; "" where there is none."""
    if name in ("LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"):
        return "" if any(k in command.env for k in ("NNODES", "NPROC_PER_NODE", "MASTER_ADDR")) else None
    if name in MEANT:
        return MEANT[name]
    if name in DISTRIBUTED:
        return ""
    near = nearest(
        name, ("FORCE_TORCHRUN", "NNODES", "NODE_RANK", "NPROC_PER_NODE", "MASTER_ADDR", "MASTER_PORT"), cutoff=0.82
    )
    return near if near and near != name else None


def _used(document: ConfigDocument, name: str) -> bool:
    """Whether the script itself reads the variable (`--node_rank $RANK`)."""
    return f"${name}" in document.text or f"${{{name}" in document.text


def _wrong(name: str, meant: str, value: str, line: int, command: Command) -> Wrong:
    if not meant:
        return Wrong(says=say("`{name}` is not read by {program}: torchrun, which it starts, sets it for each process", name=name, program=command.program), line=line,
                     instead=say("remove `{name}`", name=name), edits=(swap(line, f"{name}={value} ", ""),), level="warning")  # fmt: skip
    if meant in command.env:
        return Wrong(
            says=say(
                "`{name}` is not read by {program}, and `{meant}` is set already",
                name=name,
                program=command.program,
                meant=meant,
            ),
            line=line,
            instead=say("remove `{name}`", name=name),
            level="warning",
        )
    both = say(" on this node, and another number on each other one") if meant == "NODE_RANK" else ""
    return Wrong(says=say("`{name}` is not read by {program}: write `{meant}={value}`{both}", name=name, program=command.program, meant=meant, value=value, both=both), line=line,
                 instead=f"{meant}={value}", edits=(swap(line, f"{name}=", f"{meant}="),), effect=_effect(meant))  # fmt: skip


def _effect(name: str) -> Effect:
    """The global batch follows the number of processes; where they meet changes nothing."""
    return "experiment" if name in ("NNODES", "NPROC_PER_NODE", "FORCE_TORCHRUN") else "execution"


def _not_exported(document: ConfigDocument) -> Iterator[Wrong]:
    """`NNODES=2` on its own line, without export, does not reach the program below it."""
    if document.kind not in ("command", "slurm"):
        return
    for command in commands(document):
        if command.program not in LLAMAFACTORY:
            continue
        for name in ("NNODES", "NODE_RANK", "NPROC_PER_NODE", "MASTER_ADDR", "MASTER_PORT", "FORCE_TORCHRUN"):
            line = document.line(name) if document.kind == "command" else 0
            if (
                name in document.settings
                and document.kind == "command"
                and name not in command.env
                and not _used(document, name)
                and line
            ):
                yield Wrong(says=say("`{name}` is set and not exported: {program} does not see it", name=name, program=command.program), line=line, instead=f"export {name}={document.settings[name]}",
                            edits=(swap(line, f"{name}=", f"export {name}="),), effect=_effect(name))  # fmt: skip


RULE = Rule(
    id="TR402",
    name="unread-variable",
    level="error",
    status="stable",
    check=check,
    applies="command slurm environment",
    what="An environment variable that looks like the launcher's and is read by nobody.",
    why="Every node then starts as node 0, and all of them wait for the others until the timeout; nothing says why.",
    source=Source(
        kind="code",
        ref="llamafactory 0.9.5 launcher.py: NNODES, NODE_RANK, NPROC_PER_NODE, MASTER_ADDR, MASTER_PORT, RDZV_ID, MIN_NNODES, MAX_NNODES, MAX_RESTARTS",
    ),
    fires="== run.sh\nFORCE_TORCHRUN=1 NNODES=2 RANK=0 MASTER_ADDR=10.0.0.5 MASTER_PORT=29501 llamafactory-cli train sft.yaml\n",
    quiet="== run.sh\nFORCE_TORCHRUN=1 NNODES=2 NODE_RANK=0 MASTER_ADDR=10.0.0.5 MASTER_PORT=29501 llamafactory-cli train sft.yaml\n",
)
