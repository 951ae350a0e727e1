"""From a workspace to the jobs whose files are written and started."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from pathlib import Path

from msgspec.structs import replace

from papertrain.configs.commands import preflight
from papertrain.configs.target import Job, seen_from
from papertrain.core.commands import line
from papertrain.core.errors import PapertrainError, nearest
from papertrain.core.gate import confirmation
from papertrain.core.site import read_site
from papertrain.core.texts import say
from papertrain.core.training import TrainingPlan
from papertrain.core.workspace import Data, Run, Study, Workspace, run_id


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
        site=read_site(work.root),
    )


def hours_of(plan: TrainingPlan) -> float | None:
    """The predicted time of a training."""
    seconds = plan.duration.total_seconds.value if plan.duration else None
    return seconds / 3600 if seconds else None


def preflight_of(work: Workspace, run: Run) -> tuple[str, ...]:
    """The program that compares the nodes before the training starts on them."""
    if work.study.method(run.method).kind != "train":
        return ()
    return preflight(job(work, work.study, run.method, work.root))


def allowed(todo: Sequence[Job], words: Sequence[str]) -> list[Job]:
    """The jobs, with the commit at which the code of their model's repository may run: `REPO@REVISION`.

    Raises PapertrainError for a revision that may move (a branch, a tag, a short one), and for a model of no plan.
    """
    found = list(todo)
    for word in words:
        repo, at, revision = word.rpartition("@")
        if not at or not repo:
            raise PapertrainError(f"{word!r} names no revision", code="bad-revision", ask=["REPO@REVISION, with the whole commit: 40 characters"])  # fmt: skip
        if not re.fullmatch(r"[0-9a-f]{40}", revision):
            raise PapertrainError(
                f"{revision!r} may move: code that was read today could be other code tomorrow", code="bad-revision", ask=["name the whole commit: 40 characters"],
            )  # fmt: skip
        mine = [one for one in found if repo == one.plan.model.name and not one.plan.model.local_path]
        if not mine:
            local = [one for one in found if repo in (one.plan.model.name, one.plan.model.local_path)]
            names = [one.plan.model.name for one in found if not one.plan.model.local_path]
            raise PapertrainError(
                f"{repo} is a folder here, which no revision pins" if local else f"no plan here trains {repo}",
                code="unknown-model", nearest=nearest(repo, names),
                ask=["plan with the repository's name, so that its revision can be pinned"] if local else [],
            )  # fmt: skip
        found = [replace(one, remote_code=revision) if one in mine else one for one in found]
    return found


CODE_TARGETS = ("llamafactory", "trl", "axolotl")


def runs_code(todo: Sequence[Job], written: Container[str]) -> list[str]:
    """What was allowed to run where, and which files do without."""
    said = []
    for one in todo:
        if one.remote_code is not None:
            said.append(
                say("{method}: training will run the code of {repo} at {revision}: read it first", method=one.name, repo=one.model, revision=one.remote_code[:12])
            )  # fmt: skip
            others = [t for t in ("script", "accelerate") if f"{one.name}/{t}" in written]
            if others:
                said.append(
                    say("{method}: the files for {targets} never run a repository's code: use {others}", method=one.name, targets=", ".join(others), others=", ".join(CODE_TARGETS))
                )  # fmt: skip
    return said


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
