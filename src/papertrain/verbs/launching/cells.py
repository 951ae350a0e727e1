"""Which cells of the study are started, and why one of them is not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from papertrain.core.commands import line
from papertrain.core.errors import PapertrainError, Refused
from papertrain.core.workspace import Run, Workspace, has_checkpoint, split_run_id
from papertrain.run.launcher import Place
from papertrain.verbs.launching.here import cannot_start, python_of, search
from papertrain.verbs.launching.ready import Ready, launchers, ready
from papertrain.verbs.launching.told import scoring

if TYPE_CHECKING:
    from papertrain.core.environment import Environment


def cells(work: Workspace, run: str | None, missing: bool, limit: int | None, again: bool) -> list[Run]:
    """The cells to start: the named one, the open ones, or the only one. Raises PapertrainError."""
    grid = work.grid()
    if run is not None:
        known = {r.id: r for r in grid}
        if run in known:
            return [known[run]]
        method, data, seed = split_run_id(run)
        work.study.method(method)
        work.study.data(data)
        return [Run(id=run, method=method, data=data, seed=seed)]
    if missing:
        found = [r for r in grid if r.state in ("missing", "interrupted", "failed")]
        if limit is not None and limit < 1:
            raise PapertrainError("--max is at least 1", code="bad-value")
        return found[:limit]
    waiting = grid if again else [r for r in grid if r.state != "done"]
    if len(grid) == 1:
        return grid
    if not waiting:
        return []
    ours = work.study.ours
    return [next((r for r in waiting if r.method == ours), waiting[0])]


def prepared(
    space: Workspace, cell: Run, environment: Environment | None, *, target: str | None, launcher: str | None, resume: bool, overwrite: bool, more: Sequence[str],
    shown: list[str] | None = None,
) -> Ready:  # fmt: skip
    """One cell with its command; refused where it runs already, is done, or would be mixed with an earlier attempt."""
    place = space.run_path(cell.id)
    if cell.state == "running":
        raise Refused(
            f"{cell.id} is running ({cell.because})",
            code="running",
            file=place,
            command=line("papertrain", "watch", place),
        )
    if cell.state in ("done", "stale") and not overwrite:
        again = line("papertrain", "launch", space.root, "--run", cell.id, "--overwrite", "--yes")
        raise Refused(
            f"{cell.id} is done" if cell.state == "done" else f"{cell.id} is stale: {cell.because}",
            code="done",
            file=place,
            ask=["--overwrite sets the finished run aside and starts anew"],
            command=again if cell.state == "stale" else scoring(space, cell.id),
        )
    one = ready(
        space,
        cell,
        environment,
        target=target,
        launcher=launcher,
        resume=resume and has_checkpoint(place),
        more=more,
    )
    if cell.state in ("failed", "interrupted") and not resume and not overwrite and has_checkpoint(place):
        raise Refused(
            f"{cell.id} left checkpoints behind ({cell.because})", code="has-checkpoints", file=place,
            ask=["--resume goes on from the last one", "--overwrite sets them aside and starts anew"], command=line("papertrain", "launch", space.root, "--run", cell.id, "--resume", "--yes"),
        )  # fmt: skip
    place_of_it = Place(root=space.root, python=python_of(environment), search=search(environment), run=cell.id)
    # Where there is no environment at all, that is what is said, and not what is missing in none.
    stopped = cannot_start(space, one, environment)
    bare = stopped is not None and stopped.code == "no-environment"
    why = None if bare else launchers()[one.launcher].ready(place_of_it)
    if why is not None and shown is not None:
        shown.append(why)
    elif why is not None:
        raise Refused(
            why,
            code="no-launcher",
            ask=["--launcher local starts it here", "or name a training environment with --env"],
        )
    return one


def unchanged(space: Workspace, one: Ready) -> None:
    """What was decided for the run as it stood is not done to another state of it."""
    now = next((r.state for r in space.grid() if r.id == one.run.id), one.run.state)
    if now != one.run.state:
        raise Refused(
            f"{one.run.id} is {now} now, it was {one.run.state} when this began: another papertrain was quicker",
            code="changed-meanwhile",
            file=space.run_path(one.run.id),
            command=line("papertrain", "status", space.root),
        )
