"""Modes, and the gate where something is spent or claimed. One place, for every face."""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from papertrain.core.commands import line
from papertrain.core.errors import Refused
from papertrain.core.governance import at_least
from papertrain.core.project import FILE as PROJECT
from papertrain.core.values import Mode, Record
from papertrain.core.workspace import Workspace
from papertrain.core.writing import HIDDEN, Writer

CONFIRMED = "confirmed.json"


class Confirmation(Record, frozen=True, kw_only=True):
    """Somebody read the plan at this digest and said yes."""

    method: str
    digest: str
    at: str
    terminal: bool


def decide_mode(asked: Mode | None, place: Path | None) -> Mode:
    """`--mode`; else standard where the study says so or a paper-project.yaml lies in or above the place; else quick with
    a place, exploratory without. A governance text can make it stricter, never looser."""
    return at_least(_decided(asked, place))


def _decided(asked: Mode | None, place: Path | None) -> Mode:
    if asked is not None:
        return asked
    if place is None:
        return "exploratory"
    place = Path(place)
    if Workspace.is_workspace(place) and (place / "study.toml").is_file():
        mode = Workspace(place).study.mode
        if mode is not None:
            return mode
    here = place.resolve()
    if any(os.access(folder / PROJECT, os.F_OK) for folder in (here, *here.parents)):
        return "standard"
    return "quick"


def confirm(work: Workspace, method: str) -> Confirmation:
    """Record that the plan at its present digest is confirmed, and whether a person was at a terminal."""
    said = Confirmation(
        method=method,
        digest=work.plan_digest(method),
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        terminal=sys.stdin.isatty(),
    )
    known = work.state(CONFIRMED)
    known[method] = {"digest": said.digest, "at": said.at, "terminal": said.terminal}
    with Writer(work.root, overwrite=True) as w:
        w.text(f"{HIDDEN}/{CONFIRMED}", json.dumps(known, indent=2, sort_keys=True) + "\n")
    return said


def confirmation(work: Workspace, method: str) -> Confirmation | None:
    """The confirmation of the plan as it stands now, or None where it is unconfirmed or has changed since."""
    said = work.state(CONFIRMED).get(method)
    if (
        not isinstance(said, dict)
        or not work.plan_path(method).is_file()
        or said.get("digest") != work.plan_digest(method)
    ):
        return None
    return Confirmation(
        method=method, digest=str(said["digest"]), at=str(said.get("at", "")), terminal=bool(said.get("terminal"))
    )


def require_confirmed(work: Workspace, method: str, mode: Mode, what: str) -> None:
    """Raises Refused (exit 3) in standard mode while the plan is unconfirmed: `what` would spend or claim something."""
    if mode != "standard" or confirmation(work, method) is not None:
        return
    changed = method in work.state(CONFIRMED)
    raise Refused(
        f"{what} waits: the plan of {method} {'has changed since it was confirmed' if changed else 'is not confirmed'}",
        code="unconfirmed",
        file=work.plan_path(method),
        ask=["read the plan (plan.md beside it), then confirm it"],
        command=line("papertrain", "status", work.root, "--confirm", "derive"),
    )
