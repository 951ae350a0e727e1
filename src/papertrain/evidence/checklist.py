"""The method's checklist: six steps, each done, unconfirmed, missing or stale, with the reason and the next command."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any, Literal

from papertrain.core.commands import line
from papertrain.core.environment import read_environment
from papertrain.core.evidence import read_evidence, stale
from papertrain.core.files import json_object, sha256_file
from papertrain.core.gate import confirmation
from papertrain.core.program import program_of
from papertrain.core.texts import say
from papertrain.core.values import Mode, Value
from papertrain.core.ways import nearest_way, too_large, way, words
from papertrain.core.workspace import Run, Workspace, has_checkpoint
from papertrain.evidence.test_set import FILES, TOPIC, adding, lacks_test, named_files, predicting, unpredicted

State = Literal["done", "unconfirmed", "missing", "stale"]
HASH_LIMIT = 500 * 2**20
"""Larger data files are compared by size only; the reason says so."""


class Step(Value, frozen=True, kw_only=True):
    step: int
    name: str
    state: State
    because: str
    next: str


class Condition(Value, frozen=True, kw_only=True):
    """One line of the method's done-when list."""

    text: str
    met: bool
    because: str


def steps(work: Workspace) -> list[Step]:
    """The six steps in their order."""
    grid = work.grid()
    return [_derive(work), _configure(work), _monitor(work), _debug(work, grid), _results(work, grid), _package(work)]


def done_when(work: Workspace) -> list[Condition]:
    """The done-when list of the method, ticked with reasons."""
    by = {s.name: s for s in steps(work)}
    grid = work.grid()
    done = [r for r in grid if r.state == "done"]
    tables, figures = _files(work, "tables", "*.tex"), _files(work, "figures", "*.pdf")
    return [
        Condition(
            text=say("parameters derived and confirmed"), met=by["derive"].state == "done", because=by["derive"].because
        ),
        Condition(text=say("configs generated"), met=by["configure"].state == "done", because=by["configure"].because),
        Condition(
            text=say("training started or debugged"),
            met=any(r.state != "missing" for r in grid),
            because=say("{n} of {all} runs finished", n=len(done), all=len(grid)),
        ),
        Condition(
            text=say("monitoring guide provided"), met=by["monitor"].state == "done", because=by["monitor"].because
        ),
        Condition(text=say("results analysed"), met=by["results"].state == "done", because=by["results"].because),
        Condition(
            text=say("tables and figures generated"),
            met=bool(tables and figures),
            because=say("{t} tables, {f} figures", t=len(tables), f=len(figures)),
        ),
    ]


def next_step(work: Workspace, mode: Mode | None = None, found: list[Step] | None = None) -> Step | None:
    """The first step that is not done, or None; a run that failed and was not diagnosed goes before all of them. Outside of
    work for a paper the confirmation is advised, not awaited: the first step that is open goes first."""
    found = steps(work) if found is None else found
    undone = [s for s in found if s.state != "done"]
    if mode != "standard":
        undone = [s for s in undone if s.state != "unconfirmed" or _unfit(work, s)] or undone
    broken = any(r.state == "failed" for r in work.grid())
    return next((s for s in undone if broken and s.name == "debug"), undone[0] if undone else None)


def _unfit(work: Workspace, step: Step) -> bool:
    """Whether what waits for a yes is a plan that does not fit: no step goes on from there by itself."""
    return step.name == "derive" and any(too_large(work.plan(m)) for m in work.methods())


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
    """What started this run, else the last one of all."""
    own = [] if run is None else [work.run_path(run.id) / "record.json"]
    every = sorted((work.root / "runs").glob("*/record.json"), key=lambda p: p.stat().st_mtime, reverse=True)
    for file in [*(p for p in own if p.is_file()), *every[:5]]:
        found = json_object(file)
        if found is not None and (run is not None or found.get("target") != "command"):
            return found
    return {}


def _derive(work: Workspace) -> Step:
    wanted = [m.name for m in work.study.methods if m.kind == "train"]
    have = work.methods()
    for method in wanted:
        if method not in have:
            command = _planning(work, method)
            return Step(
                step=1, name="derive", state="missing", because=say("no plan for {method}", method=method), next=command
            )
    for method in wanted:
        changed = _data_changed(work, method)
        if changed:
            return Step(
                step=1, name="derive", state="stale", because=changed, next=line("papertrain", "plan", work.root)
            )
    large = {m: why for m in wanted if (why := too_large(work.plan(m)))}
    for method in wanted:
        if confirmation(work, method) is None:
            because = say("the plan of {method} at its present digest is not confirmed", method=method)
            if method in large:
                return Step(
                    step=1, name="derive", state="unconfirmed", because=large[method], next=smaller(work, method)
                )
            return Step(
                step=1,
                name="derive",
                state="unconfirmed",
                because=because,
                next=line("papertrain", "status", work.root, "--confirm", "derive"),
            )
    names = ", ".join(wanted) or "no method to train"
    because = "; ".join([say("plans confirmed: {names}", names=names), *large.values()])
    return Step(step=1, name="derive", state="done", because=because, next="")


def smaller(work: Workspace, method: str) -> str:
    """The line that plans the nearest way that fits; where none is known, what fits on which cards."""
    plan = work.plan(method)
    best = nearest_way(plan)
    if best is None:
        return line("papertrain", "explain", "recipes")
    named = ["--name", method] if len(work.methods()) > 1 else []
    return line("papertrain", "plan", work.root, *named, *words(*way(plan, best.changes)))


def _planning(work: Workspace, method: str) -> str:
    """How a method gets its plan, with the model and data that the study names already."""
    model, file = "MODEL", next((d.train for d in work.study.datasets if d.train), None)
    for other in work.methods():
        known = work.plan(other)
        model = str(work.root / known.model.local_path) if known.model.local_path else known.model.name
        file = file or (known.dataset.path if known.dataset is not None else None)
        break
    where = "FILE" if file is None else work.root / file if (work.root / file).exists() else file
    return line("papertrain", "plan", model, "--data", where, "--name", method, "-o", work.root)


def _data_changed(work: Workspace, method: str) -> str:
    data = work.plan(method).dataset
    if data is None:
        return ""
    file = Path(data.path) if Path(data.path).is_absolute() else work.root / data.path
    file = file if file.exists() else Path(data.path)
    if not file.is_file():
        return ""
    if data.bytes and file.stat().st_size != data.bytes and file.suffix not in (".gz", ".zst", ".bz2"):
        return say("{file} has changed its size since the plan of {method}", file=file.name, method=method)
    if file.stat().st_size <= HASH_LIMIT and sha256_file(file) != data.sha256:
        return say("{file} has changed since the plan of {method}", file=file.name, method=method)
    return ""


def _own_commands(work: Workspace) -> bool:
    """Every method of the study brings its own command: there is nothing to write for it, and nothing of its to guide."""
    return not work.methods() and bool(work.study.methods) and all(m.kind == "command" for m in work.study.methods)


def _configure(work: Workspace) -> Step:
    if _own_commands(work):
        return Step(
            step=2,
            name="configure",
            state="done",
            because=say("every method has its own command in study.toml"),
            next="",
        )
    command = line("papertrain", "generate", work.root)
    made = work.state("generated.json")
    for method in work.methods():
        folder = work.root / "configs" / method
        if not any(folder.rglob("*")):
            because = say("no configs for {method}", method=method)
            return Step(step=2, name="configure", state="missing", because=because, next=command)
        if method in made and made[method] != work.plan_digest(method):
            because = say("the plan of {method} changed after its configs were written", method=method)
            return Step(step=2, name="configure", state="stale", because=because, next=command)
    if work.methods() and FILES in made and made[FILES] != named_files(work.study):
        because = say("study.toml names other data files since the configs were written")
        return Step(step=2, name="configure", state="stale", because=because, next=command)
    targets = sorted({p.name for p in (work.root / "configs").glob("*/*") if p.is_dir()})
    if not (work.root / "commands.sh").is_file():
        return Step(step=2, name="configure", state="missing", because=say("no commands.sh"), next=command)
    return Step(
        step=2,
        name="configure",
        state="done",
        because=say("written for {targets}", targets=", ".join(targets)),
        next="",
    )


def _monitor(work: Workspace) -> Step:
    if _own_commands(work):
        because = say("no plan says what to expect: `papertrain watch` reads what the commands log")
        return Step(step=3, name="monitor", state="done", because=because, next="")
    if (work.root / "monitoring.md").is_file():
        return Step(
            step=3, name="monitor", state="done", because=say("monitoring.md carries this study's own numbers"), next=""
        )
    return Step(
        step=3,
        name="monitor",
        state="missing",
        because=say("no monitoring.md"),
        next=line("papertrain", "generate", work.root),
    )


def _debug(work: Workspace, grid: list[Run]) -> Step:
    for run in grid:
        if run.state in ("failed", "interrupted"):
            path = work.run_path(run.id)
            if run.state == "failed" and not any((path / "debug").glob("*.md")):
                fix = _proposed(path)
                because = (
                    say("{run} {why}, was diagnosed, and no fix was applied yet", run=run.id, why=run.because)
                    if fix
                    else say("{run} {why} and was not diagnosed", run=run.id, why=run.because)
                )
                command = line("papertrain", "fix", path, fix) if fix else line("papertrain", "diagnose", path)
                return Step(step=4, name="debug", state="missing", because=because, next=command)
            because = say("{run}: {why}", run=run.id, why=run.because)
            return Step(
                step=4,
                name="debug",
                state="stale",
                because=because,
                next=launching(work, run),
            )
    for run in grid:
        if run.state == "running":
            because = say("{run} is running", run=run.id)
            return Step(
                step=4, name="debug", state="missing", because=because, next=line("papertrain", "watch", work.root)
            )
    old = next((r for r in grid if r.state == "stale"), None)
    if old is not None:
        because = say("{run}: {why}", run=old.id, why=old.because)
        return Step(step=4, name="debug", state="stale", because=because, next=launching(work, old))
    missing = [r for r in grid if r.state == "missing"]
    if len(missing) == len(grid):
        because = say("no run was started") + (
            "; "
            + say(
                "no training environment with {what} was found here: --env PATH names one, --dry-run shows how to make one",
                what=lacking,
            )
            if (lacking := untrainable(work))
            else ""
        )
        return Step(
            step=4,
            name="debug",
            state="missing",
            because=because,
            next=launching(work),
        )
    logs = len([*(work.root / "runs").glob("*/debug/*.md"), *(work.root / "runs").glob("earlier/*/debug/*.md")])
    because = say("no failed run is left; {n} debug logs kept", n=logs)
    return Step(step=4, name="debug", state="done", because=because, next="")


def _proposed(run: Path) -> str:
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


def _results(work: Workspace, grid: list[Run]) -> Step:
    done = [r for r in grid if r.state == "done"]
    silent = [r for r in done if unpredicted(work, r) and work.study.method(r.method).kind == "train"]
    if silent and len(silent) == len(done):
        return Step(
            step=5, name="results", state="missing", because=unscorable(work, silent[0]), next=scorable(work, silent[0])
        )
    unscored = [r.id for r in done if not (work.result_path(r.id) / "metrics.json").is_file()]
    if unscored or not done:
        old = next((r for r in grid if r.state == "stale"), None)
        because = (
            say("not scored yet: {runs}", runs=", ".join(unscored[:3]))
            if unscored
            else say("{run}: {why}", run=old.id, why=old.because)
            if old is not None
            else say("no run has finished")
            if (lacking := lacks_test(work)) is None
            else say("no run has finished, and the study names no test set for {data}: `papertrain plan WORK --test FILE` adds one", data=lacking.name)
        )  # fmt: skip
        command = line("papertrain", "evaluate", work.root) if unscored else launching(work, old)
        return Step(step=5, name="results", state="missing", because=because, next=command)
    table = work.root / "tables" / "main.tex"
    command = line("papertrain", "compare", work.root, "-o", work.root)
    if not table.is_file():
        return Step(step=5, name="results", state="missing", because=say("no tables/main.tex"), next=command)
    held = stale(work.root, read_evidence(work.root))
    if held:
        first = next(iter(held))
        because = say("{n} numbers are stale: {id}: {why}", n=len(held), id=first, why=held[first])
        again = line("papertrain", "evaluate", work.root) if done else command
        return Step(step=5, name="results", state="stale", because=because, next=again)
    newest = max((p.stat().st_mtime for p in (work.root / "results").glob("*/metrics.json")), default=0.0)
    if newest > table.stat().st_mtime + 1:
        return Step(step=5, name="results", state="stale", because=say("a score is newer than the table"), next=command)
    because = say("table and figures from {n} runs", n=len(done))
    open_cells = [r.id for r in grid if r.state == "missing"]
    if open_cells:
        because += "; " + say("{n} cells still to run: {runs}", n=len(open_cells), runs=", ".join(open_cells[:3]))
        return Step(step=5, name="results", state="missing", because=because, next=launching(work))
    return Step(step=5, name="results", state="done", because=because, next="")


def _package(work: Workspace) -> Step:
    command = line("papertrain", "package", work.root, "-o", f"{work.root.resolve().name}-bundle")
    manifest = work.root / "MANIFEST.json"
    if not manifest.is_file():
        return Step(step=6, name="package", state="missing", because=say("no MANIFEST.json"), next=command)
    try:
        files = dict((json_object(manifest) or {})["files"])
        held = {n: e.get("source_sha256") for n, e in files.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return Step(step=6, name="package", state="stale", because=say("MANIFEST.json cannot be read"), next=command)
    for name, digest in held.items():
        source = work.root / name
        if source.is_file() and digest not in (None, sha256_file(source)):
            because = say("{file} changed after the package was made", file=name)
            return Step(step=6, name="package", state="stale", because=because, next=command)
    return Step(step=6, name="package", state="done", because=say("{n} files in the manifest", n=len(files)), next="")


def _files(work: Workspace, folder: str, pattern: str) -> list[Path]:
    return sorted((work.root / folder).glob(pattern))
