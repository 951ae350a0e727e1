"""What holds for every verb that writes, whichever face asked: governance texts are recorded, or named as unavailable."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable
from pathlib import Path

from papertrain.core.report import Report

Verb = Callable[..., Report]

WRITING = {"plan", "generate", "launch", "fix", "evaluate", "compare", "package", "report", "status"}


@functools.cache
def governed(name: str, verb: Verb) -> Verb:
    """The verb; one that writes also looks the governance texts up, and records those it finds in the evidence."""
    if name not in WRITING:
        return verb

    @functools.wraps(verb)
    def asked(*args: object, **options: object) -> Report:
        from papertrain.core.writing import places_written

        with places_written() as places:
            report = verb(*args, **options)
        return report if report.mode == "exploratory" else _looked_up(report, places)

    return asked


def _looked_up(report: Report, places: set[Path]) -> Report:
    import msgspec

    from papertrain.core.governance import find_governance
    from papertrain.core.workspace import Workspace

    found, missing = find_governance()
    if found:
        for place in places:
            if Workspace.is_workspace(place):
                _record(place, [(t.name, t.path, t.sha256) for t in found])
    return msgspec.structs.replace(report, unavailable=(*report.unavailable, *missing)) if missing else report


def _record(place: Path, texts: list[tuple[str, str, str]]) -> None:
    from papertrain.core.errors import Refused
    from papertrain.core.evidence import append_evidence, read_evidence
    from papertrain.core.results import Evidence
    from papertrain.core.writing import Writer

    new = [
        Evidence(id="", claim=f"governance text {name} was found", value=None, file=os.path.relpath(path, place), sha256=digest,
                 unit="text", made_by="papertrain, look-up of governance texts")
        for name, path, digest in texts
    ]  # fmt: skip
    have = {(e.claim, e.sha256) for e in read_evidence(place)}
    new = [e for e in new if (e.claim, e.sha256) not in have]
    if new:
        # Where another process was quicker, the next verb records them.
        with contextlib.suppress(Refused), Writer(place) as w:
            append_evidence(w, place, new)
