"""From a workspace to the jobs whose files are written and started."""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path

from papertrain.configs.target import Job, seen_from
from papertrain.core.commands import line
from papertrain.core.errors import PapertrainError
from papertrain.core.gate import confirmation
from papertrain.core.texts import say
from papertrain.core.workspace import Data, Study, Workspace, run_id


def jobs(work: Workspace, root: Path | None = None, methods: Sequence[str] = ()) -> list[Job]:
    """One job per method that has a plan. root: where the files will lie, if not in the workspace.

    Raises PapertrainError where there is no plan, or no data to train on.
    """
    known = [m for m in work.methods() if not methods or m in methods]
    if not known:
        raise PapertrainError(
            "no plan in this workspace yet",
            code="no-plan",
            file=work.root,
            command=line("papertrain", "plan", "MODEL", "--data", "FILE", "-o", work.root),
        )
    study = work.study
    return [job(work, study, method, root or work.root) for method in known]


def job(work: Workspace, study: Study, method: str, root: Path) -> Job:
    """The job of one method on the first data set of the study."""
    plan = work.plan(method)
    data = study.datasets[0]
    train = data.train or (plan.dataset.path if plan.dataset is not None else None)
    if train is None:
        raise PapertrainError(
            f"the plan of {method} names no training data", code="no-data", file=work.plan_path(method), ask=["plan again with --data FILE, or name it in study.toml"],
            command=line("papertrain", "plan", work.root, "--data", "FILE"),
        )  # fmt: skip
    seed = next(iter(next((m.seeds for m in study.methods if m.name == method and m.seeds), study.seeds)))
    return Job(
        plan=plan,
        model=seen_from(root, place(work, plan.model.local_path)) if plan.model.local_path else plan.model.name,
        train=seen_from(root, place(work, train)),
        validation=seen_from(root, place(work, data.validation)) if data.validation else None,
        test=seen_from(root, place(work, data.test)) if data.test else None,
        name=method,
        data_name=data.name,
        run=f"runs/{run_id(method, data.name, seed)}",
        confirmed=confirmation(work, method) is not None,
    )


def place(work: Workspace, path: str) -> Path:
    """Where a file of the study lies: paths are seen from the workspace, or else from here."""
    inside = work.root / path
    return inside if inside.exists() or not Path(path).exists() else Path(path)


def absent(root: Path, todo: Sequence[Job]) -> list[str]:
    """The files that a job names and that are not there, so that nobody learns it from a failed start."""
    found = []
    for one in todo:
        named = [one.train, one.validation, one.test, one.model if one.plan.model.local_path else None]
        found += [
            f"{one.name}: {path} is not there, seen from {root}"
            for path in named
            if path and not (root / path).exists()
        ]
    return found


def untold_template(todo: Sequence[Job], written: Container[str]) -> list[str]:
    """Chat models whose files say `template: default`, since nobody knows theirs."""
    from papertrain.configs.targets.llamafactory import template

    return [
        say(
            "{method}: {model} is a chat model of no known template, so its files say `template: default`: name it with papertrain plan WORK --set template=NAME",
            method=one.name, model=one.plan.model.name,
        )
        for one in todo
        if one.plan.model.instruct and one.plan.template is not None and template(one) == "default" and f"{one.name}/llamafactory" in written
    ]  # fmt: skip


def data_files(work: Workspace, data: Data) -> dict[str, Path]:
    """The files of a data set that are named, by what they are for."""
    named = {"train": data.train, "validation": data.validation, "test": data.test}
    return {name: place(work, path) for name, path in named.items() if path}
