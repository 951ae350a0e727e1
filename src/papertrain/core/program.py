"""What is started: one program, in the words of any launcher."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Literal

from papertrain.core.values import Value


class Variable(Value, frozen=True, kw_only=False):
    """One environment variable with the reason for it."""

    name: str
    value: str
    why: str = ""


class Program(Value, frozen=True, kw_only=True):
    """A training or command, without a launcher.

    kind `python`: words are a script and its arguments, an interpreter comes in front. `tool`: the words start with an
    installed program, which starts its own workers (llamafactory-cli); `accelerate`: with one that hands accelerate's
    options on (trl, axolotl). `command`: a user's own command line.
    devices: processes on each node. resume: the words that are added where it goes on from its last checkpoint.
    ranked: one process, too, is started under torchrun, as DeepSpeed wants it. needs: packages and files (seen from the
    workspace) without which this way to start does not carry the plan.
    """

    kind: Literal["python", "tool", "accelerate", "command"]
    words: tuple[str, ...]
    environment: tuple[Variable, ...] = ()
    devices: int = 1
    nodes: int = 1
    resume: tuple[str, ...] = ()
    ranked: bool = False
    needs: tuple[str, ...] = ()


COMES_FROM = {
    "llamafactory-cli": "llamafactory", "axolotl": "axolotl", "trl": "trl", "accelerate": "accelerate", "torchrun": "torch", "deepspeed": "deepspeed",
    "lm_eval": "lm-eval", "ray": "ray[default]",
}  # fmt: skip
"""Program → the package that installs it."""


def program_of(package: str) -> str:
    """The program that a package installs; empty where it has none that starts anything."""
    return next((program for program, comes_from in COMES_FROM.items() if comes_from == package), "")


def shell_line(words: Iterable[str]) -> str:
    """The words as one shell line; `$NAME` and `$(…)` stay as they are, for scripts."""
    return " ".join(w if w.startswith(("$", '"$')) else shlex.quote(w) for w in words)


def alone(program: Program, python: str) -> tuple[str, ...]:
    """The words that start one process of it with that interpreter."""
    if program.kind != "python":
        return program.words
    place = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "1") if program.ranked else ()
    return (python, *place, *program.words)


def torchrun(
    program: Program, *, node_rank: str = "0", address: str = "127.0.0.1", port: int | str = 29500
) -> tuple[list[str], list[Variable]]:
    """The words and the added variables that start one node's workers of a distributed run."""
    if program.kind == "tool":
        added = [Variable("FORCE_TORCHRUN", "1", "one process per device, also with a single one"),
                 Variable("NNODES", str(program.nodes)), Variable("NODE_RANK", node_rank, "this machine's number, from 0"),
                 Variable("NPROC_PER_NODE", str(program.devices)), Variable("MASTER_ADDR", address), Variable("MASTER_PORT", str(port))]  # fmt: skip
        return list(program.words), added
    if program.kind == "accelerate":
        words = [*program.words, "--num_processes", str(program.devices * program.nodes)]
        if program.nodes > 1:
            words += [
                "--num_machines",
                str(program.nodes),
                "--machine_rank",
                node_rank,
                "--main_process_ip",
                address,
                "--main_process_port",
                str(port),
            ]
        return words, []
    if program.nodes == 1:
        place = ["--standalone", "--nproc_per_node", str(program.devices)]
    else:
        place = ["--nnodes", str(program.nodes), "--nproc_per_node", str(program.devices), "--node_rank", node_rank,
                 "--master_addr", address, "--master_port", str(port)]  # fmt: skip
    return ["torchrun", *place, *program.words], []
