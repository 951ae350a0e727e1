"""What `evaluate` and `compare` share: the runs of a workspace as scores and items, and evidence for every number."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from papertrain.core.files import json_object
from papertrain.core.outputs import outputs
from papertrain.evidence.test_set import lacks_test

if TYPE_CHECKING:
    from papertrain.core.results import Evidence
    from papertrain.core.workspace import Run, Workspace
    from papertrain.results.board import Entry
    from papertrain.results.collect import Collection
    from papertrain.results.records import Reading


def state_of(work: Workspace, run: Run) -> str:
    """Why a run has no result, in words for a table note."""
    if run.state == "missing":
        return "not run yet"
    if run.state in ("done", "stale"):
        if lacks_test(work, run.data) is not None and work.study.method(run.method).kind == "train":
            return "finished, but the study names no test set to predict"
        return f"finished, but no predictions in runs/{run.id}/"
    return f"{run.state}: {run.because}"


STAMP = re.compile(r"_\d{4}-\d\d-\d\dT[\d.:-]+$")


def harness(work: Workspace, run: str) -> list[Path]:
    """What lm-evaluation-harness wrote for a run: of each file the newest, since it never replaces one."""
    folder = work.result_path(run)
    files = [*folder.glob("**/samples_*.jsonl"), *folder.glob("**/results_*.json")]
    newest = {(f.parent, STAMP.sub("", f.stem)): f for f in sorted(files)}
    return sorted(newest.values())


def read_run(work: Workspace, run: Run, given: dict[str, str]) -> list[Reading]:
    """What a run left behind, placed in the grid. A damaged file is an issue, not the end."""
    from papertrain.core.errors import PapertrainError
    from papertrain.results.collect import read_file
    from papertrain.results.records import Issue, Reading

    predictions, reported = outputs(work, run.id)
    found = []
    tasks = harness(work, run.id)
    own = [p for p in reported if p.suffix != ".jsonl" and not p.is_relative_to(work.result_path(run.id))]
    for path in [*(predictions or own), *tasks]:
        try:
            reading = read_file(path, given)
        except PapertrainError as error:
            found.append(Reading(issues=[Issue(says=f"{run.id}: {error.one_line()}", file=str(path), code=error.code)]))
            continue
        place = {"system": run.method, "seed": str(run.seed)}
        scores = [
            msgspec.structs.replace(s, **place, dataset=s.dataset or run.data)
            for s in reading.scores
            if not s.metric.startswith("train")
        ]
        items = [
            msgspec.structs.replace(i, **place, dataset=i.dataset if path in tasks and i.dataset else run.data)
            for i in reading.items
        ]
        found.append(msgspec.structs.replace(reading, scores=scores, items=items))
    return found


def kinds_of(work: Workspace) -> dict[str, str]:
    """How the answers on each data set are read: as the study's metrics or the plans say; nothing where neither does."""
    from papertrain.core.errors import PapertrainError
    from papertrain.results.kinds import decided

    study, tasks = work.study, set()
    for method in study.methods:
        try:
            tasks.add(work.plan(method.name).task if work.plan_path(method.name).is_file() else "")
        except PapertrainError:
            continue  # a broken plan is told where it is read
    return {d.name: kind for d in study.datasets if (kind := decided(tasks, d.metrics))}


def collect_grid(work: Workspace, grid: Sequence[Run], given: dict[str, str]) -> Collection:
    from papertrain.results.collect import Collection, Placed

    scores, items, issues, placed = [], [], [], []
    for run in grid:
        for reading in read_run(work, run, given):
            scores += reading.scores
            items += reading.items
            issues += reading.issues
            for f in dict.fromkeys([*(i.file for i in reading.items), *(s.file for s in reading.scores)]):
                placed.append(
                    Placed(file=f, format=reading.format, method=run.method, dataset=run.data, seed=str(run.seed))
                )
    return Collection(scores=scores, items=items, issues=issues, placed=placed)


def evidence_of(e: Entry, root: Path | None, made_by: str) -> Evidence:
    """One line of evidence for one score. The id comes later."""
    from papertrain.core.results import Evidence

    source = e.items if e.items is not None else e.score
    file = source.file if source is not None else ""
    pointer = (
        e.score.pointer
        if e.score is not None and e.measured is None
        else (f"{e.measured.n} rows" if e.measured is not None else "")
    )
    seed = int(e.seed) if e.seed.lstrip("-").isdigit() else None
    where = f" on {e.dataset}" if e.dataset else ""
    named = f" ({e.seed})" if e.seed and seed is None else ""
    status = "verified" if e.measured is not None else "typed" if e.score is not None and e.score.typed else "reported"
    return Evidence(
        id="", claim=f"{e.system}: {e.metric}{where}{named}", value=e.value, file=relative(file, root), sha256=source.sha256 if source is not None else "", pointer=pointer,
        unit=e.scale, status=status, made_by=made_by, seed=seed, reason=e.reason, **_recorded(root, f"{e.system}.{e.dataset}.{e.seed}"),  # type: ignore[arg-type]
    )  # fmt: skip


def _recorded(root: Path | None, run: str) -> dict[str, str]:
    """What the run's own record says of its making: commit, framework and device; nothing where there is no record."""
    if root is None or "/" in run or ".." in run:
        return {}
    record = json_object(root / "runs" / run / "record.json") or {}
    versions = record.get("versions")
    named = (
        [f"{k} {versions[k]}" for k in ("torch", "transformers", "llamafactory", "trl") if k in versions]
        if isinstance(versions, dict)
        else []
    )
    return {
        "commit": str(record.get("git_commit") or ""),
        "framework": ", ".join(named),
        "device": str(record.get("device") or ""),
    }


def relative(file: str, root: Path | None) -> str:
    """A path as it stands in evidence: below the workspace where it lies there, else as the user wrote it."""
    if root is not None:
        try:
            return str(Path(file).resolve().relative_to(root.resolve()))
        except ValueError:
            pass
    return file


def is_workspace(paths: Sequence[Path]) -> bool:
    from papertrain.core.workspace import Workspace

    return len(paths) == 1 and paths[0].is_dir() and Workspace.is_workspace(paths[0])


def unconfirmed(work: Workspace, mode: str) -> tuple[str, ...]:
    """In standard mode: what these results rest on that nobody has confirmed. Nothing is refused for it."""
    from papertrain.core.gate import confirmation
    from papertrain.core.texts import say

    if mode != "standard":
        return ()
    open_plans = [m for m in work.methods() if confirmation(work, m) is None]
    return (
        (say("unconfirmed: the plan of {methods}; these results rest on it", methods=", ".join(open_plans)),)
        if open_plans
        else ()
    )
