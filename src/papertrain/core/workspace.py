"""The workspace is a study: methods × data sets × seeds. One run is a study of one, and needs no file for it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from papertrain.core.errors import PapertrainError, nearest
from papertrain.core.files import json_object, read_text
from papertrain.core.training import TrainingPlan, read_plan
from papertrain.core.values import Mode, Record
from papertrain.core.writing import HIDDEN

T = TypeVar("T")

STUDY = "study.toml"
SWEEP = "sweep.json"
"""Beside a plan: the runs around its value that `plan --sweep` made."""
MOST_CELLS = 10_000
JOB_END = "job_end.json"
FEWER = 0.9
"""A trainer counts its steps itself; it and the plan part by a few."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


class Method(Record, frozen=True, kw_only=True):
    """One system of the study. kind `train`: papertrain plans and launches it; `command`: a command of the user's.

    command: with {data_train} {data_test} {seed} {out} filled in, it writes predictions into {out}.
    deterministic: no chance in it, so that one run stands for all and tests add no variation between trainings.
    """

    name: str
    kind: Literal["train", "command"] = "train"
    command: str = ""
    seeds: tuple[int, ...] | None = None
    label: str = ""
    trials: int | None = None
    deterministic: bool = False


class Data(Record, frozen=True, kw_only=True):
    name: str
    train: str | None = None
    validation: str | None = None
    test: str | None = None
    metrics: tuple[str, ...] = ()
    label: str = ""


class Study(Record, frozen=True, kw_only=True):
    """What `study.toml` says, or the study of one where there is none."""

    name: str
    methods: tuple[Method, ...]
    datasets: tuple[Data, ...]
    seeds: tuple[int, ...] = (42,)
    ours: str | None = None
    baselines: tuple[str, ...] = ()
    mode: Mode | None = None
    venue: str = ""
    written: bool = False

    def method(self, name: str) -> Method:
        """Raises PapertrainError with the nearest name."""
        return _named(name, {m.name: m for m in self.methods}, "method")

    def data(self, name: str) -> Data:
        return _named(name, {d.name: d for d in self.datasets}, "data set")


class Run(Record, frozen=True, kw_only=True):
    """One cell of the grid. state: missing (never started), running, done, failed, interrupted, or stale (finished, but
    not what the plan says now)."""

    id: str
    method: str
    data: str
    seed: int
    state: str = "missing"
    because: str = ""


_READ = (".json", ".jsonl", ".toml", ".csv", ".md", ".tex", ".yaml", ".log", ".txt")


def _no_file(folder: Path, depth: int = 3) -> Path | None:
    """A pipe or device with the name of a file: whoever opened it would wait for ever."""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return None
    for e in entries:
        try:
            if e.name.endswith(_READ) and not (e.is_file() or e.is_dir()) and os.path.lexists(os.path.realpath(e.path)):
                return Path(e.path)
            if depth > 1 and e.is_dir(follow_symlinks=False) and (found := _no_file(Path(e.path), depth - 1)):
                return found
        except OSError:
            continue
    return None


def _named(name: str, known: dict[str, T], what: str) -> T:
    if name not in known:
        raise PapertrainError(
            f"no {what} {name!r} in this study (it has {', '.join(known)})",
            code="unknown-name",
            nearest=nearest(name, known),
        )
    return known[name]


class Workspace:
    """A folder with a plan or a study in it."""

    def __init__(self, root: Path) -> None:
        self.root = Path(root)

    @classmethod
    def open(cls, path: Path | str) -> Workspace:
        """The workspace at that folder. Raises PapertrainError where it is missing or no workspace."""
        root = Path(path)
        if not root.exists():
            raise PapertrainError(
                "no such folder", code="no-workspace", file=root, command="papertrain plan MODEL --data FILE -o WORK"
            )
        if not root.is_dir():
            raise PapertrainError("a workspace is a folder, this is a file", code="no-workspace", file=root)
        if not cls.is_workspace(root):
            raise PapertrainError(
                "not a workspace: neither plans/ nor study.toml in it",
                code="no-workspace",
                file=root,
                ask=["make one with `papertrain plan MODEL --data FILE -o WORK`"],
                command=f"papertrain plan MODEL --data FILE -o {root}",
            )
        if (odd := _no_file(root)) is not None:
            raise PapertrainError(
                "a pipe or a device stands where a file of the workspace is read", code="not-a-file", file=odd
            )
        return cls(root)

    @staticmethod
    def is_workspace(path: Path) -> bool:
        """Whether the folder holds a plan or a study."""
        try:
            return (path / STUDY).is_file() or any((path / "plans").glob("*/plan.json"))
        except OSError:
            return False

    # ---- paths

    def plan_path(self, method: str) -> Path:
        return self.root / "plans" / method / "plan.json"

    def run_path(self, run: str) -> Path:
        return self.root / "runs" / run

    def result_path(self, run: str) -> Path:
        return self.root / "results" / run

    # ---- the study

    @property
    def study(self) -> Study:
        """`study.toml`, or the study of one. Raises PapertrainError with file and line for a broken one."""
        file = self.root / STUDY
        if not file.is_file():
            return self._study_of_one()
        try:
            raw = tomllib.loads(read_text(file, limit=2**20))
        except (ValueError, RecursionError) as error:  # also a number of thousands of digits
            line = int(m[1]) if (m := re.search(r"line (\d+)", str(error))) else 0
            raise PapertrainError(
                f"not valid TOML: {str(error)[:200]}", code="not-toml", file=file, line=line
            ) from None
        return _read_study(raw, file, self)

    def _study_of_one(self) -> Study:
        methods = tuple(Method(name=p.parent.name) for p in sorted((self.root / "plans").glob("*/plan.json")))
        plans = [self.plan(m.name) for m in methods]
        name, path = "data", None
        for plan in plans:
            if plan.dataset is not None:
                path = plan.dataset.path
                name = re.sub(r"[^A-Za-z0-9_-]+", "-", Path(path).name.split(".")[0]).strip("-") or "data"
        seeds = tuple(dict.fromkeys(plan.seed.value for plan in plans)) or (42,)
        ours = methods[0].name if len(methods) == 1 else None
        return Study(
            name=self.root.name, methods=methods, datasets=(Data(name=name, train=path),), seeds=seeds, ours=ours
        )

    def methods(self) -> list[str]:
        """Names of the methods that have a plan."""
        return [p.parent.name for p in sorted((self.root / "plans").glob("*/plan.json"))]

    def plan(self, method: str | None = None) -> TrainingPlan:
        """The plan of a method (the only one, or ours, where none is named). Raises PapertrainError."""
        if method is None:
            known = self.methods()
            study_ours = _ours(self.root)
            method = study_ours if study_ours in known else known[0] if known else "ours"
        file = self.plan_path(method)
        if not file.is_file():
            raise PapertrainError(f"no plan for method {method!r}", code="no-plan", file=file, nearest=nearest(method, self.methods()),
                                  command=f"papertrain plan MODEL --data FILE --name {method} -o {self.root}")  # fmt: skip
        try:
            return read_plan(read_text(file, limit=5 * 2**20))
        except msgspec.MsgspecError as error:
            raise PapertrainError(f"not a plan that papertrain wrote: {error}", code="broken-plan", file=file) from None

    def plan_digest(self, method: str) -> str:
        """SHA-256 of the plan file as it stands: what a confirmation is bound to."""
        return hashlib.sha256(self.plan_path(method).read_bytes()).hexdigest()

    def grid(self) -> list[Run]:
        """Every cell of the study with its state, in the order of the study."""
        study = self.study
        runs = []
        planned = {m.name: self._planned(m.name) for m in study.methods if m.kind == "train"}
        for method in study.methods:
            for data in study.datasets:
                for seed in method.seeds if method.seeds is not None else study.seeds:
                    state, because = self._state(
                        run_id(method.name, data.name, seed), *planned.get(method.name, (None, None))
                    )
                    runs.append(
                        Run(
                            id=run_id(method.name, data.name, seed),
                            method=method.name,
                            data=data.name,
                            seed=seed,
                            state=state,
                            because=because,
                        )
                    )
        return runs

    def _planned(self, method: str) -> tuple[str | None, int | None]:
        """(digest, optimizer steps) of a method's plan, as far as it can be read."""
        try:
            return self.plan_digest(method), self.plan(method).total_steps.value
        except (PapertrainError, OSError):
            return None, None

    def _state(self, run: str, digest: str | None = None, steps: int | None = None) -> tuple[str, str]:
        record = self.run_path(run) / "record.json"
        if not record.is_file():
            return "missing", "not started yet"
        content = json_object(record)
        if content is None:
            return "failed", "its record.json cannot be read"
        code = content.get("exit_code")
        if code is None and content.get("job"):
            code = _job_code(self.run_path(run))
            content |= {"stopped_by": "SIGTERM"} if code == 143 else {}
        if code == 0:
            old = _outdated(content, digest, steps)
            return ("stale", old) if old else ("done", "finished with exit code 0")
        if code is None:
            if content.get("job"):
                return "running", f"submitted as job {content['job']}"
            pid = content.get("pid")
            if pid is None and "pid" in content:
                return "missing", "prepared, but its program never started"
            alive = isinstance(pid, int) and _alive(pid)
            return ("running", f"process {pid}") if alive else ("interrupted", "it never recorded an end")
        if content.get("stopped_by"):
            return "interrupted", f"stopped by {content['stopped_by']}"
        return "failed", f"finished with exit code {code}"

    # ---- small state of the tool itself

    def state(self, name: str) -> dict[str, Any]:
        """A JSON object that the tool keeps in `.papertrain/` (confirmations, inputs); empty where there is none."""
        return json_object(self.root / HIDDEN / name) or {}


def has_checkpoint(folder: Path) -> bool:
    """Whether a run has left anything in its folder to go on from."""
    return any(p.is_dir() for p in folder.glob("checkpoint-*"))


def _job_code(folder: Path) -> int | None:
    """The exit code that a job's own script left behind when it ended; None while it waits or runs."""
    code = (json_object(folder / JOB_END) or {}).get("exit_code")
    return code if isinstance(code, int) else None


def _outdated(content: dict[str, Any], digest: str | None, steps: int | None) -> str:
    """Why a finished run is not the run of the plan as it stands; empty where it is. A run may stop early by itself, but
    one that was set up for fewer steps is another."""
    made = content.get("plan_digest")
    last = content.get("last")
    total = last.get("total_steps") if isinstance(last, dict) else None
    if isinstance(total, int) and steps and total < FEWER * steps:
        return f"finished {total:,} steps of the {steps:,} that the plan has"
    if isinstance(made, str) and digest is not None and made != digest:
        return "finished, but the plan has changed since it was started"
    return ""


def _alive(pid: int) -> bool:
    """Whether the process runs; one that has ended and was not yet taken leave of does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[:1] not in (
            ["Z"],
            ["X"],
        )
    except OSError:
        return False


def run_id(method: str, data: str, seed: int) -> str:
    return f"{method}.{data}.{seed}"


def split_run_id(run: str) -> tuple[str, str, int]:
    """`ours.reviews.1` → (ours, reviews, 1). Raises PapertrainError."""
    parts = run.split(".")
    if len(parts) != 3 or not parts[2].lstrip("-").isdigit():
        raise PapertrainError(f"{run!r} is no run: runs are called <method>.<data>.<seed>", code="bad-run")
    return parts[0], parts[1], int(parts[2])


def _ours(root: Path) -> str | None:
    try:
        return str(tomllib.loads(read_text(root / STUDY, limit=2**20)).get("study", {}).get("ours"))
    except (PapertrainError, ValueError, AttributeError, RecursionError):
        return None


def _completed(study: Study, work: Workspace, *, seeds: bool) -> Study:
    """The study with what its file leaves out: methods that have a plan, and the plans' data and seeds."""
    plans = work.methods()
    study = msgspec.structs.replace(study, methods=_with_trials(study.methods, work))
    if not plans or (study.methods and study.datasets and all(d.train for d in study.datasets)):
        return study
    try:
        known = work._study_of_one()
    except PapertrainError:
        return study  # a broken plan is told where it is read
    if not study.methods:
        study = msgspec.structs.replace(study, methods=known.methods, ours=study.ours or known.ours)
        study = study if seeds else msgspec.structs.replace(study, seeds=known.seeds)
    if not study.datasets:
        return msgspec.structs.replace(study, datasets=known.datasets)
    if len(study.datasets) == 1 and study.datasets[0].train is None:
        data = msgspec.structs.replace(study.datasets[0], train=known.datasets[0].train)
        return msgspec.structs.replace(study, datasets=(data,))
    return study


def _with_trials(listed: tuple[Method, ...], work: Workspace) -> tuple[Method, ...]:
    """The methods, each followed by the runs of its sweep that have a plan and are not listed themselves."""
    named = {m.name for m in listed}
    found: list[Method] = []
    for method in listed:
        found.append(method)
        for name in _trials(work.plan_path(method.name).with_name(SWEEP)):
            if name not in named and work.plan_path(name).is_file():
                named.add(name)
                found.append(Method(name=name, seeds=method.seeds))
    return tuple(found)


def _trials(record: Path) -> list[str]:
    """The methods that a sweep's record names; none where it is missing or cannot be read."""
    try:
        rows = json.loads(record.read_text("utf-8"))["trials"]
        return [str(r["method"]) for r in rows if re.fullmatch(r"[A-Za-z0-9_-]{1,200}", str(r["method"]))]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _read_study(raw: dict[str, Any], file: Path, work: Workspace) -> Study:
    """The file's tables; what it leaves out (methods, data, seeds) is as the plans that lie there say."""
    head = raw.get("study", {})
    known = {"study", "methods", "datasets", "seeds", "sweeps"}
    for key in raw:
        if key not in known:
            raise PapertrainError(f"unknown table [{key}]", code="unknown-key", file=file, nearest=nearest(key, known))
    for table in ("study", "methods", "datasets"):
        if not isinstance(raw.get(table, {}), dict):
            raise PapertrainError(
                f"[{table}] must be a table, as in [{table}{'' if table == 'study' else '.NAME'}]",
                code="bad-study",
                file=file,
            )
    try:
        methods = tuple(msgspec.convert({"name": k, **v}, Method) for k, v in raw.get("methods", {}).items())
        datasets = tuple(msgspec.convert({"name": k, **v}, Data) for k, v in raw.get("datasets", {}).items())
        study = msgspec.convert(
            {
                **head,
                "name": head.get("name", file.parent.name),
                "methods": methods,
                "datasets": datasets,
                "written": True,
            },
            Study,
        )
    except (msgspec.ValidationError, TypeError, AttributeError) as error:
        raise PapertrainError(f"{error}", code="bad-study", file=file) from None
    study = _completed(study, work, seeds="seeds" in head)
    methods, datasets = study.methods, study.datasets
    if not methods or not datasets:
        raise PapertrainError(
            "a study needs at least one [methods.NAME] and one [datasets.NAME]", code="bad-study", file=file
        )
    cells = sum(len(m.seeds if m.seeds is not None else study.seeds) for m in methods) * len(datasets)
    if cells > MOST_CELLS:
        raise PapertrainError(
            f"a study of {cells:,} runs, more than the {MOST_CELLS:,} that are kept", code="bad-study", file=file
        )
    for name in [m.name for m in methods] + [d.name for d in datasets]:
        if not NAME.fullmatch(name):
            raise PapertrainError(
                f"{name!r} cannot be a name: letters, digits, - and _ only (run ids are made of it)",
                code="bad-study",
                file=file,
            )
    for name in [study.ours or methods[0].name, *study.baselines]:
        study.method(name)
    return study
