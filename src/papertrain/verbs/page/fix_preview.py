"""What the live page asks of a fix: the exact bytes that it would write, before it writes them by the verb."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from papertrain.core.errors import PapertrainError, Refused
from papertrain.core.files import read_text, unified
from papertrain.core.texts import say
from papertrain.core.values import Value
from papertrain.core.workspace import Workspace
from papertrain.core.writing import Writer, only_reading

if TYPE_CHECKING:
    from papertrain.core.training import TrainingPlan


class Place(Value, frozen=True, kw_only=True):
    """Where a diagnosis was made: a run of a workspace, or a loose log with the config that a fix would change."""

    target: Path
    log: tuple[Path, ...] = ()


class Proposal(Value, frozen=True, kw_only=True):
    """What applying a fix would do. texts: file → (text now, text after); kept: files of a person, left alone."""

    says: str
    why: str
    effect: str
    texts: dict[str, tuple[str, str]]
    kept: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        joined = "\0".join(f"{name}\0{new}" for name, (_, new) in sorted(self.texts.items()))
        return hashlib.sha256(joined.encode("utf-8", "surrogateescape")).hexdigest()

    def diffs(self) -> list[tuple[str, str]]:
        """(file, unified diff); an unchanged file has an empty one."""
        return [(name, unified(old, new, name)) for name, (old, new) in self.texts.items()]


def proposal(place: Place, id: str, folders: Sequence[Path]) -> Proposal:
    """The change as `papertrain fix` would make it now. Raises PapertrainError; what lies outside of the folders is refused."""
    from papertrain import verbs
    from papertrain.verbs.diagnosing.cases import workspace_of
    from papertrain.verbs.fix import derived_fix, stored_fix
    from papertrain.verbs.fixing import applying

    with only_reading():
        told = verbs.load("fix")(place.target, id, log=list(place.log))
        work, run = workspace_of([place.target]) if place.target.is_dir() else (None, "")
        _, chosen, _ = stored_fix(work, run, id) if work else derived_fix(place.target, id, place.log, (), None, None)
    for touched in chosen["applies_to"]:
        if not any(Path(touched["file"]).resolve().is_relative_to(f.resolve()) for f in folders):
            raise Refused(
                say("this fix changes a file outside of the served folders: apply it on the command line"),
                code="outside",
                command=told.action,
            )
    kept: tuple[str, ...] = ()
    files = [(a["file"], a["sha256"]) for a in chosen["applies_to"]]
    texts = {_shown(Path(p), work): pair for p, pair in applying.after(files, chosen["patch"] or "").items()}
    if not texts and chosen["edits"] and work is not None:
        texts, kept = _plan_after(work, run.partition(".")[0], applying.sets_of(chosen["edits"]))
    if not texts:
        raise PapertrainError(say("this fix is something to do, not a change of a file"), code="no-patch")
    return Proposal(says=told.result, why=told.explanation, effect=str(chosen["effect"]), texts=texts, kept=kept)


def apply(place: Place, id: str, digest: str, folders: Sequence[Path]) -> Any:
    """Apply it by the verb and its governance, if it still is what was shown. Returns the verb's Report."""
    from papertrain import verbs

    if proposal(place, id, folders).digest != digest:
        raise Refused(say("something changed since the files were shown: look again"), code="changed")
    return verbs.load("fix")(place.target, id, log=list(place.log), yes=True)


def _shown(path: Path, work: Workspace | None) -> str:
    root = work.root.resolve() if work is not None else path.parent.resolve()
    full = path.resolve()
    return full.relative_to(root).as_posix() if full.is_relative_to(root) else full.name


def _plan_after(
    work: Workspace, method: str, sets: Sequence[str]
) -> tuple[dict[str, tuple[str, str]], tuple[str, ...]]:
    """The plan derived again with these values, and the configs that come from it."""
    from papertrain.verbs.page import answers

    changes = dict(s.split("=", 1) for s in sets)
    q, p, _ = answers.changed_plan(answers.question_of(work.root, method), changes)
    new = answers.files_of(work.root, q, p)
    kept: tuple[str, ...] = ()
    if any((work.root / "configs" / method).glob("*")):
        more, kept = _configs(Planned(work.root, method, p, new[f"plans/{method}/plan.json"]))
        new |= more
    return {name: (now(work.root / name), text) for name, text in new.items()}, kept


def _configs(planned: Planned) -> tuple[dict[str, str], tuple[str, ...]]:
    """Every generated file as it would become; those that a person edited are kept."""
    from papertrain.configs.generating import generate
    from papertrain.core.redact import redact
    from papertrain.verbs.launching.jobs import jobs

    commands = {m.name: m.command for m in planned.study.methods if m.kind == "command"}
    made = generate(jobs(planned), (), commands).files
    with Writer(planned.root, keep=True, dry_run=True) as w:
        for name, text in made.items():
            w.text(name, text)
    kept = tuple(c.path for c in w.changes if c.kind == "kept")
    changed = [c.path for c in w.changes if c.kind not in ("same", "kept")]
    return {name: redact(made[name], terminal=True) for name in changed}, kept


class Planned(Workspace):
    """A workspace as it would be with another plan of one method."""

    def __init__(self, root: Path, method: str, plan: TrainingPlan, text: str) -> None:
        super().__init__(root)
        self._method, self._plan, self._text = method, plan, text

    def plan(self, method: str | None = None) -> TrainingPlan:
        return self._plan if method == self._method else super().plan(method)

    def plan_digest(self, method: str) -> str:
        if method != self._method:
            return super().plan_digest(method)
        return hashlib.sha256(self._text.encode()).hexdigest()


def now(path: Path) -> str:
    """What stands in a file; empty where there is none."""
    return read_text(path) if path.is_file() else ""


def runs_with_log(work: Workspace, runs: Sequence[str]) -> list[str]:
    """The runs that can be diagnosed: those whose folder holds something to read."""
    from papertrain.verbs.page.answers import log_files

    return [r for r in runs if "~" not in r and log_files(work.run_path(r))]
