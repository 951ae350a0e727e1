"""What launchers read from the environment, and how many processes a command starts."""

from __future__ import annotations

from papertrain.configs.checking.document import ConfigDocument
from papertrain.configs.checking.shell import Command

# Read by LLaMA-Factory's own launcher, which starts torchrun itself.
LLAMAFACTORY_READS = frozenset({
    "FORCE_TORCHRUN", "NNODES", "NODE_RANK", "NPROC_PER_NODE", "MASTER_ADDR", "MASTER_PORT", "MAX_RESTARTS", "RDZV_ID", "MIN_NNODES", "MAX_NNODES",
    "OPTIM_TORCH", "USE_MCA", "USE_RAY", "USE_V1", "USE_KT", "USE_MODELSCOPE_HUB", "USE_OPENMIND_HUB", "ALLOW_EXTRA_ARGS", "LLAMAFACTORY_VERBOSITY", "DISABLE_VERSION_CHECK",
    "FORCE_CHECK_IMPORTS", "RECORD_VRAM", "API_HOST", "API_PORT", "API_KEY", "API_MODEL_NAME", "API_VERBOSE", "GRADIO_SHARE", "GRADIO_SERVER_NAME", "GRADIO_SERVER_PORT", "GRADIO_ROOT_PATH", "GRADIO_IPV6", "MAX_CONCURRENT", "FASTAPI_ROOT_PATH", "ENABLE_SHORT_CONSOLE",
})  # fmt: skip
VERBS = ("api", "chat", "export", "train", "webchat", "webui", "env", "version", "help")
"""`llamafactory-cli` in 0.9.5; `eval` is still parsed and raises."""

LLAMAFACTORY = ("llamafactory-cli", "llamafactory", "lmf")
DISTRIBUTED = frozenset({"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "NUM_NODES", "NUM_GPUS", "NODES", "NGPUS", "GPUS_PER_NODE", "NPROC", "NUM_PROCESSES", "MACHINE_RANK", "NODERANK", "NNODE", "NPROC_PER_NODES", "MASTER_IP", "MASTER_ADDRESS"})  # fmt: skip
"""Names that look like a launcher's and are read by none of them (torchrun sets the first four itself)."""

MEANT = {
    "RANK": "NODE_RANK", "MACHINE_RANK": "NODE_RANK", "NODERANK": "NODE_RANK", "NUM_NODES": "NNODES", "NODES": "NNODES", "NNODE": "NNODES", "NUM_GPUS": "NPROC_PER_NODE",
    "NGPUS": "NPROC_PER_NODE", "GPUS_PER_NODE": "NPROC_PER_NODE", "NPROC": "NPROC_PER_NODE", "NUM_PROCESSES": "NPROC_PER_NODE", "NPROC_PER_NODES": "NPROC_PER_NODE",
    "MASTER_IP": "MASTER_ADDR", "MASTER_ADDRESS": "MASTER_ADDR",
}  # fmt: skip


def number(value: str | None) -> int | None:
    return int(value) if value is not None and value.lstrip("-").isdigit() else None


def option(command: Command, *names: str) -> tuple[int | None, int]:
    """(value as a number, line) of a launcher's option or, for LLaMA-Factory, of its variable."""
    for name in names:
        if name in command.options:
            text, line = command.options[name]
            return number(text), line
    return None, command.line


def processes_per_node(command: Command) -> tuple[int | None, int]:
    if command.program in LLAMAFACTORY and "NPROC_PER_NODE" in command.env:
        text, line = command.env["NPROC_PER_NODE"]
        return number(text), line
    return option(command, "nproc_per_node", "num_gpus")


def nodes(command: Command) -> tuple[int | None, int]:
    if command.program in LLAMAFACTORY and "NNODES" in command.env:
        text, line = command.env["NNODES"]
        return number(text), line
    return option(command, "nnodes", "num_machines", "num_nodes")


def trains(command: Command) -> bool:
    return (command.program in LLAMAFACTORY and command.verb == "train") or command.launcher in (
        "torchrun",
        "deepspeed",
        "accelerate",
    )


def commands(document: ConfigDocument) -> tuple[Command, ...]:
    return tuple(c for c in document.commands if isinstance(c, Command))
