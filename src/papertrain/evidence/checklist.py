"""The method's checklist: six steps, each done, unconfirmed, missing or stale, with the reason and the next command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

from papertrain.core.commands import line
from papertrain.core.errors import PapertrainError
from papertrain.core.evidence import read_evidence, stale
from papertrain.core.files import json_object, read_text, sha256_file
from papertrain.core.gate import confirmation
from papertrain.core.texts import say
from papertrain.core.values import Mode, Value
from papertrain.core.ways import too_large
from papertrain.core.workspace import Run, Workspace
from papertrain.evidence.lines import launching, planning, proposed, scorable, smaller, unscorable, untrainable
from papertrain.evidence.tables import contradictions, is_table
from papertrain.evidence.test_set import FILES, lacks_test, named_files, unpredicted

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


def _derive(work: Workspace) -> Step:
    wanted = [m.name for m in work.study.methods if m.kind == "train"]
    have = work.methods()
    for method in wanted:
        if method not in have:
            command = planning(work, method)
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
                fix = proposed(path)
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
    entries = read_evidence(work.root)
    held = stale(work.root, entries)
    if held:
        first = next(iter(held))
        because = say("{n} numbers are stale: {id}: {why}", n=len(held), id=first, why=held[first])
        again = line("papertrain", "evaluate", work.root) if done else command
        return Step(step=5, name="results", state="stale", because=because, next=again)
    if differs := next(contradictions(_tables(work), entries), None):
        because = f"{differs.file}:{differs.line}: {differs.says}"
        again = line("papertrain", "compare", work.root, "-o", work.root, "--overwrite")
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


def _tables(work: Workspace) -> Iterator[tuple[str, str]]:
    """(name, text) of each table that can be read."""
    for name in sorted(f"tables/{p.name}" for p in (work.root / "tables").iterdir()):
        if is_table(name):
            with suppress(PapertrainError):
                yield name, read_text(work.root / name)


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
