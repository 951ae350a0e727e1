"""The line that a person types next: what starts a run, scores it, plans it smaller, or applies what was proposed for it."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

from papertrain.core.commands import line
from papertrain.core.environment import ENVIRONMENT, read_environment, remembered
from papertrain.core.files import json_object
from papertrain.core.program import program_of
from papertrain.core.texts import say
from papertrain.core.ways import nearest_way, way, words
from papertrain.core.workspace import Run, Workspace, has_checkpoint
from papertrain.evidence.test_set import TOPIC, adding, predicting


def launching(work: Workspace, run: Run | None = None) -> str:
    """The line that starts a run (none: every open one), with the framework and the environment that were used last, and
    `--resume` where a checkpoint is left. Where nothing here can train, the line that shows what would run."""
    record = _last_record(work, run)
    words: list[object] = ["--run", run.id] if run is not None else ["--missing"]
    if (target := record.get("target")) not in (None, "script", "command"):
        words += ["--target", target]
    if isinstance(env := record.get("env"), str):
        words += ["--env", env]
    if run is not None and run.state == "stale":
        words += ["--overwrite"]
    elif run is not None and (run.state == "interrupted" or has_checkpoint(work.run_path(run.id))):
        words += ["--resume"]
    return line("papertrain", "launch", work.root, *words, "--dry-run" if untrainable(work, record) else "--yes")


def unscorable(work: Workspace, run: Run) -> str:
    """Why a finished run has no score: nothing names what it should predict, or it did not predict it."""
    if work.study.method(run.method).kind == "command":
        return say("{run} has finished, but its command left no predictions in runs/{run}/", run=run.id)
    data = work.study.data(run.data)
    if not data.test:
        return say("{run} has finished, but the study names no test set: `papertrain plan WORK --test FILE` adds one", run=run.id)  # fmt: skip
    return say("{run} has finished without predictions of the test set {test}", run=run.id, test=data.test)


def scorable(work: Workspace, run: Run) -> str:
    """The line after which a finished run without predictions can be scored."""
    if work.study.method(run.method).kind == "command":
        return line("papertrain", "launch", work.root, "--run", run.id, "--overwrite", "--yes")
    if not work.study.data(run.data).test:
        return adding(work)
    return predicting(work, run) or line("papertrain", "explain", TOPIC, "--plan", work.root)


def untrainable(work: Workspace, record: dict[str, Any] | None = None) -> str:
    """What a training would not find here (torch, or the framework's program), as far as it can be seen; else empty."""
    record = _last_record(work, None) if record is None else record
    target, asked = record.get("target") or "script", record.get("env")
    if target == "command" or not work.methods():
        return ""
    if isinstance(asked, str):
        if target == "script":
            named = read_environment(asked)
            return "" if named is not None and named.python and named.version("torch") else "torch"
        places = [Path(asked)]
    else:
        near = [read_environment("auto", near=place) for place in (work.root.resolve(), None)]
        if target == "script":
            return "" if any(e is not None and e.python and e.version("torch") for e in near) else "torch"
        places = [Path(e.path) for e in near if e is not None]
    program = program_of(str(target))
    if not program:
        return ""
    path = os.pathsep.join(
        [*(str(p / "bin") for p in places), str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    )
    return "" if shutil.which(program, path=path) else program


def _last_record(work: Workspace, run: Run | None) -> dict[str, Any]:
    """What started this run, else the last one of all, else what the plan was made for."""
    own = [] if run is None else [work.run_path(run.id) / "record.json"]
    every = sorted((work.root / "runs").glob("*/record.json"), key=lambda p: p.stat().st_mtime, reverse=True)
    for file in [*(p for p in own if p.is_file()), *every[:5]]:
        found = json_object(file)
        if found is not None and (run is not None or found.get("target") != "command"):
            return found
    planned = remembered(work.state(ENVIRONMENT))
    return {} if planned is None else {"env": planned}


def smaller(work: Workspace, method: str) -> str:
    """The line that plans the nearest way that fits; where none is known, what fits on which cards."""
    plan = work.plan(method)
    best = nearest_way(plan)
    if best is None:
        return line("papertrain", "explain", "recipes")
    named = ["--name", method] if len(work.methods()) > 1 else []
    return line("papertrain", "plan", work.root, *named, *words(*way(plan, best.changes)))


def planning(work: Workspace, method: str) -> str:
    """How a method gets its plan, with the model and data that the study names already."""
    model, file = "MODEL", next((d.train for d in work.study.datasets if d.train), None)
    for other in work.methods():
        known = work.plan(other)
        model = str(work.root / known.model.local_path) if known.model.local_path else known.model.name
        file = file or (known.dataset.path if known.dataset is not None else None)
        break
    where = "FILE" if file is None else work.root / file if (work.root / file).exists() else file
    return line("papertrain", "plan", model, "--data", where, "--name", method, "-o", work.root)


def proposed(run: Path) -> str:
    """The first fix that can be applied, of the newest diagnosis of that run that still stands for its log."""
    known = sorted((p for p in (run / "debug").glob("*.json") if p.stem.isdigit()), key=lambda p: int(p.stem))
    if not known or any(f.stat().st_mtime > known[-1].stat().st_mtime + 1 for f in run.glob("*.log")):
        return ""
    try:
        found = (json_object(known[-1]) or {})["diagnoses"]
        fixes = [f for d in found for f in d["fixes"] if f.get("patch") or f.get("edits")]
        return str(fixes[0]["id"]) if fixes else ""
    except (KeyError, TypeError, AttributeError):
        return ""
