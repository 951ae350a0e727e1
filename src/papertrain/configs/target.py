"""What a framework target is: a value that turns a job (a plan and where things lie) into the files of one framework."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from papertrain.core.site import Site
from papertrain.core.training import TrainingPlan
from papertrain.core.values import Value

ADAPTERS = ("lora", "qlora", "dora", "rslora")
PREFERENCE = ("dpo", "orpo", "simpo", "kto", "rm")


class Job(Value, frozen=True, kw_only=True):
    """One plan, and the places as its files will say them: seen from the workspace, where every command is started.

    model: a folder or a hub name. train, validation, test: data files. name: the method's name in the study.
    run: the folder of the first run. confirmed: somebody said yes to the plan at its present digest. remote_code: the
    commit of the model's repository whose code the user allowed to run; None as long as nobody did. site: the cluster's.
    """

    plan: TrainingPlan
    model: str
    train: str
    name: str = "ours"
    validation: str | None = None
    test: str | None = None
    data_name: str = "data"
    run: str = "runs/ours.data.42"
    confirmed: bool = True
    remote_code: str | None = None
    site: Site = Site()

    def __getattr__(self, name: str) -> Any:
        """`job.learning_rate` is the value of that decision; None where the plan has no such knob."""
        if name.startswith("_"):
            raise AttributeError(name)
        knob = self.plan.decision(name)
        if knob is None and name not in TrainingPlan.__struct_fields__:
            raise AttributeError(name)
        return None if knob is None else knob.value

    def why(self, name: str) -> str:
        """The reason of a decision, in one line."""
        knob = self.plan.decision(name)
        return "" if knob is None else " ".join(knob.why.split())

    @property
    def task(self) -> str:
        return self.plan.task

    @property
    def on_cpu(self) -> bool:
        return self.plan.compute.gpu.id == "cpu"

    @property
    def devices(self) -> int:
        return self.plan.compute.gpus

    @property
    def per_node(self) -> int:
        return self.plan.compute.gpus_per_node

    @property
    def nodes(self) -> int:
        return self.plan.compute.nodes

    @property
    def classifies(self) -> bool:
        return self.task == "classification" or self.plan.model.kind == "encoder"

    @property
    def adapters(self) -> bool:
        return bool(self.plan.method.value in ADAPTERS)

    @property
    def shards(self) -> bool:
        """Whether DeepSpeed must carry the plan: plain data parallelism needs more memory than was planned."""
        return bool(self.zero_stage) and not self.on_cpu

    def folder(self, target: str) -> str:
        return f"configs/{self.name}/{target}"

    def lora_names(self, joined: str, everything: str) -> str:
        """The adapters' modules as one text; `everything` is the framework's word for all linear layers."""
        targets = self.lora_targets
        return (
            everything
            if targets in (None, "all-linear", "all")
            else joined.join([targets] if isinstance(targets, str) else targets)
        )


Files = dict[str, str]


class Target(Value, frozen=True, kw_only=True):
    """One framework. The folder `targets/` is the list.

    files: path (seen from the workspace) → text. says: decision → the key that carries it. cannot_say: decision → why no
    key carries it. Every decision of a plan stands in one of the two. applies: a reason why this job cannot be said at
    all, or None. version: the newest release whose keys are known here. command: the words that start a run.
    """

    id: str
    title: str
    version: str
    files: Callable[[Job], Files]
    says: Callable[[Job], Mapping[str, str]]
    cannot_say: Callable[[Job], Mapping[str, str]]
    applies: Callable[[Job], str | None]


def seen_from(root: Path, path: str | Path) -> str:
    """A path as files in the workspace say it: relative while it lies inside or near, else as it stands."""
    absolute = Path(os.path.abspath(path))  # noqa: PTH100 - a link is named, not followed
    relative = Path(os.path.relpath(absolute, os.path.abspath(root)))  # noqa: PTH100
    if relative.parts.count("..") <= 4:
        return relative.as_posix()
    return str(absolute)
