"""All files of a study from its plans: targets, commands, guide."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

from papertrain.configs import targets as _targets
from papertrain.configs.commands import command_files
from papertrain.configs.monitoring import guide
from papertrain.configs.programs import STARTED
from papertrain.configs.target import Files, Job, Target
from papertrain.core.discover import discover
from papertrain.core.errors import PapertrainError, nearest
from papertrain.core.values import Value


@lru_cache
def targets() -> dict[str, Target]:
    """Every target, by id."""
    return discover(_targets, "TARGET")


class Skipped(Value, frozen=True, kw_only=True):
    """A target that this job cannot be written for, and why."""

    method: str
    target: str
    why: str


class Generated(Value, frozen=True, kw_only=True):
    files: Files
    written: dict[str, list[str]]
    skipped: list[Skipped]
    cannot_say: dict[str, dict[str, str]]


def chosen(names: Sequence[str]) -> list[Target]:
    """The targets of those names, all of them without. Raises PapertrainError with the nearest name."""
    known = targets()
    for name in names:
        if name not in known:
            raise PapertrainError(
                f"no target {name!r}: known are {', '.join(known)}", code="unknown-target", nearest=nearest(name, known)
            )
    return [t for t in known.values() if not names or t.id in names]


def generate(
    jobs: Iterable[Job], names: Sequence[str] = (), commands: Mapping[str, str] | None = None,
    made: Callable[[Job, str], bool] = lambda job, target: False,
) -> Generated:  # fmt: skip
    """The text of every file, by its path in the workspace. commands: methods that are a command of the user's.

    made: whether a target that is not asked for has files from before; its startup commands stay. The same jobs give
    the same bytes.
    """
    files: Files = {}
    written: dict[str, list[str]] = {}
    skipped: list[Skipped] = []
    unsaid: dict[str, dict[str, str]] = {}
    pairs: list[tuple[Job, Sequence[str]]] = []
    for job in jobs:
        mine = []
        for target in chosen(names):
            why = target.applies(job)
            if why is not None:
                skipped.append(Skipped(method=job.name, target=target.id, why=why))
                continue
            new = target.files(job)
            files |= new
            mine.append(target.id)
            written[f"{job.name}/{target.id}"] = list(new)
            unsaid[f"{job.name}/{target.id}"] = dict(target.cannot_say(job))
        pairs.append(
            (job, [t.id for t in targets().values() if t.id in mine or (t.applies(job) is None and made(job, t.id))])
        )
    files |= command_files(pairs, commands or {})
    files["monitoring.md"] = guide([job for job, _ in pairs])
    return Generated(files=files, written=written, skipped=skipped, cannot_say=unsaid)


def unstartable(job: Job) -> str:
    """Why no program that is generated can start this training; "" where one can."""
    reasons = [targets()[name].applies(job) for name in STARTED]
    return "; ".join(dict.fromkeys(filter(None, reasons))) if all(reasons) else ""
