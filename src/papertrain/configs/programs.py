"""From a target's files to the program that reads them: what `commands.sh` prints and `launch` starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from papertrain.configs.environment import environment
from papertrain.configs.target import Job
from papertrain.core.program import Program, Variable

STARTED = ("script", "llamafactory", "trl", "axolotl")
"""Targets that start a training by themselves, in the order in which `launch` prefers them."""


class Cell:
    """What differs between the runs of a study: seed, folder, data. None = as the files say."""

    def __init__(
        self,
        run: str | None = None,
        seed: int | None = None,
        train: str | None = None,
        validation: str | None = None,
        test: str | None = None,
    ) -> None:
        self.run, self.seed, self.train, self.validation, self.test = run, seed, train, validation, test


def program(
    job: Job, target: str, cell: Cell | None = None, *, resume: bool = False, more: Sequence[str] = (), size: tuple[int, int] | None = None
) -> Program:  # fmt: skip
    """The program of one run. `more` is passed through at the end. size: (devices a node, nodes), if not the plan's."""
    devices, nodes = size or (job.per_node, job.nodes)
    cell = cell or Cell()
    words = _WORDS[target](job, cell)
    variables: list[Variable] = [*environment(job, target), *sharding(job, target, alone=devices * nodes == 1)]
    return Program(
        kind=_KIND[target],
        words=(*words, *(_RESUME[target] if resume else ()), *more),
        environment=tuple(variables),
        devices=devices,
        nodes=nodes,
        resume=() if resume else _RESUME[target],
        ranked=job.shards and devices * nodes == 1 and _KIND[target] == "python",
        needs=("deepspeed", deepspeed_file(job, target)) if job.shards else (),
    )


def deepspeed_file(job: Job, target: str) -> str:
    """Where DeepSpeed's JSON of this target lies: the Trainer's has `auto`, the script's is complete."""
    return f"{job.folder('script' if target == 'script' else 'deepspeed')}/ds_zero{job.zero_stage}.json"


def sharding(job: Job, target: str, *, alone: bool) -> list[Variable]:
    """The variables that make a start carry the plan's ZeRO stage and offload. alone: one process."""
    if not job.shards:
        return []
    if target == "script":
        return [Variable("ACCELERATE_USE_DEEPSPEED", "true", f"the plan fits as ZeRO-{job.zero_stage}: plain data parallelism needs more memory"),
                Variable("ACCELERATE_DEEPSPEED_CONFIG_FILE", deepspeed_file(job, target))]  # fmt: skip
    if target == "llamafactory" and alone:
        return [Variable("FORCE_TORCHRUN", "1", "LLaMA-Factory starts DeepSpeed only under torchrun")]
    if target == "trl" and alone:  # accelerate starts a single process without ranks
        place = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
        why = {"RANK": "DeepSpeed asks for a rank, of a single process too"}
        return [Variable(name, value, why.get(name, "")) for name, value in place.items()]
    return []


def elsewhere(job: Job, target: str, devices: int) -> tuple[str, ...] | None:
    """The words that keep the global batch on another number of devices; None where no whole accumulation does."""
    if target == "script" or devices == job.devices:
        return ()
    steps, rest = divmod(int(job.global_batch_size), int(job.micro_batch_size) * devices)
    if rest or not steps:
        return None
    return (
        (f"gradient_accumulation_steps={steps}",)
        if target == "llamafactory"
        else ("--gradient_accumulation_steps", str(steps))
    )


def _script(job: Job, cell: Cell) -> list[str]:
    words = [f"{job.folder('script')}/train.py"]
    for flag, value in (("--output_dir", cell.run), ("--seed", cell.seed), ("--train_file", cell.train),
                        ("--validation_file", cell.validation), ("--test_file", cell.test)):  # fmt: skip
        words += [] if value is None else [flag, str(value)]
    return words


def _llamafactory(job: Job, cell: Cell) -> list[str]:
    words = ["llamafactory-cli", "train", f"{job.folder('llamafactory')}/train.yaml"]
    words += [] if cell.run is None else [f"output_dir={cell.run}"]
    words += [] if cell.seed is None else [f"seed={cell.seed}"]
    return words


def _trl(job: Job, cell: Cell) -> list[str]:
    from papertrain.configs.targets.trl import VERBS

    words = ["trl", VERBS[job.task], "--config", f"{job.folder('trl')}/{VERBS[job.task]}.yaml"]
    words += [] if cell.run is None else ["--output_dir", cell.run]
    words += [] if cell.seed is None else ["--seed", str(cell.seed)]
    return words


def _axolotl(job: Job, cell: Cell) -> list[str]:
    # The module behind `axolotl train`: python and torchrun start it alike in every release.
    words = ["-m", "axolotl.cli.train", f"{job.folder('axolotl')}/train.yaml"]
    words += [] if cell.run is None else ["--output_dir", cell.run]
    words += [] if cell.seed is None else ["--seed", str(cell.seed)]
    return words


_RESUME: dict[str, tuple[str, ...]] = {
    "script": ("--resume",),
    "llamafactory": (),  # a second run into the same folder goes on from its last checkpoint without being asked
    "trl": ("--resume_from_checkpoint", "true"),
    "axolotl": ("--auto_resume_from_checkpoints", "true"),
}
_KIND: dict[str, Literal["python", "tool", "accelerate"]] = {
    "script": "python",
    "llamafactory": "tool",
    "trl": "accelerate",
    "axolotl": "python",
}
_WORDS = {"script": _script, "llamafactory": _llamafactory, "trl": _trl, "axolotl": _axolotl}
