"""The attempts of a supervised run, as they are kept and as a person reads them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import structs

from papertrain.core.commands import line
from papertrain.core.files import size_of
from papertrain.core.texts import say
from papertrain.core.values import Value
from papertrain.core.workspace import Workspace
from papertrain.core.writing import Writer
from papertrain.run.checkpoints import checkpoints
from papertrain.verbs.fixing import applying

RECORD = "supervised.json"
LARGEST_LOG = 256 * 2**20
"""Bytes of an attempt's output that are kept for its diagnosis, from its end."""


class Attempt(Value, frozen=True, kw_only=True):
    """One start and its end, as it is kept. failure: a class, or what is known where no class fits; empty for a good end."""

    number: int
    started_at: str
    ended_at: str | None
    seconds: float | None
    exit_code: int | None
    resumed_from: int | None
    step: int
    failure: str = ""
    confidence: float = 0.0
    detected_at_step: int | None = None
    stopped_by_watch: str = ""
    because: tuple[str, ...] = ()
    did: str = ""
    why: str = ""
    fix: dict[str, Any] | None = None
    excluded_nodes: tuple[str, ...] = ()
    set_aside: tuple[str, ...] = ()
    outcome: str = ""


def closed(done: list[Attempt], now: Attempt, space: Workspace) -> None:
    """What came of the change before this attempt, in its record and in its note."""
    if not done:
        return
    before = done[-1]
    if not now.failure:
        outcome = say("the run finished, {n} steps", n=now.step)
    elif before.failure == now.failure and now.step <= before.step:
        outcome = say("it did not help: the same failure at step {step}", step=now.step)
    else:
        outcome = say("it ran on to step {step}, then failed otherwise: {failure}", step=now.step, failure=now.failure)
    done[-1] = structs.replace(before, outcome=outcome)
    if before.fix and before.fix.get("note"):
        applying.noted(Path(before.fix["note"]), space.root, "Outcome", outcome)


def attempt_log(space: Workspace, run: str, number: int, start_at: int) -> Path | None:
    """This attempt's part of the output, in a file of its own."""
    log = space.run_path(run) / "stdout.log"
    size = size_of(log)
    if size == 0:
        return None
    begin = start_at if start_at <= size else 0  # a scheduler that writes the file anew
    begin = max(begin, size - LARGEST_LOG)
    with log.open("rb") as f:
        f.seek(begin)
        content = f.read(LARGEST_LOG)
    if not content.strip():
        return None
    name = f"runs/{run}/attempts/{number}.log"
    with Writer(space.root, overwrite=True) as w:
        w.binary(name, content)
    return space.root / name


def write(space: Workspace, run: str, done: Sequence[Attempt]) -> None:
    with Writer(space.root, overwrite=True) as w:
        w.text(f"runs/{run}/{RECORD}", json.dumps(plain(done), indent=2, ensure_ascii=False) + "\n")


def plain(done: Sequence[Attempt]) -> dict[str, Any]:
    return {"schema": "papertrain-supervised/1", "attempts": [structs.asdict(a) for a in done]}


def failed(record: Mapping[str, Any]) -> bool:
    """Whether a supervised run ended badly, whatever its exit code says."""
    attempts = record.get("supervised", {}).get("attempts", [])
    return bool(attempts and attempts[-1]["failure"])


def shown(record: Mapping[str, Any]) -> list[str]:
    """The attempts as a person reads them: what failed, what was done, what came of it."""
    attempts = record.get("supervised", {}).get("attempts", [])
    if len(attempts) < 2 and not failed(record):
        return []
    lines = []
    for a in attempts:
        head = say("attempt {n}: step {step}, exit code {code}", n=a["number"], step=a["step"], code=a["exit_code"])
        lines.append(f"  {head}" + (f"  {a['failure']}" if a["failure"] else ""))
        lines += [f"    {b}"[:100] for b in a["because"][:2]]
        if a["did"]:
            lines.append(f"    {a['did']}: {a['why']}"[:160])
        if a["excluded_nodes"]:
            lines.append("    " + say("kept off: {nodes}", nodes=", ".join(a["excluded_nodes"])))
        lines += [f"    {x}" for x in a["set_aside"]]
        if a["fix"] and a["fix"]["diff"]:
            lines += [f"      {x}" for x in a["fix"]["diff"].splitlines()[:20]]
        if a["outcome"]:
            lines.append("    " + a["outcome"])
    return lines


def told(space: Workspace, record: Mapping[str, Any]) -> tuple[str, str, str]:
    """(result, explanation, next command) of a supervised run that failed in the end."""
    last = record["supervised"]["attempts"][-1]
    place = space.run_path(record["run"])
    n = len(record["supervised"]["attempts"])
    result = say("{run} failed: {failure}, after {n} attempts", run=record["run"], failure=last["failure"], n=n) if n > 1 else say("{run} failed: {failure}", run=record["run"], failure=last["failure"])  # fmt: skip
    where = say("every attempt is in {file}", file=place / RECORD)
    good = last_step(place)
    kept = say("the last good checkpoint is of step {step}", step=good) if good else say("there is no good checkpoint")
    return result, f"{last['why']}; {kept}; {where}", line("papertrain", "diagnose", place)


def last_step(place: Path) -> int:
    found = [c for c in checkpoints(place) if not c.problem]
    return found[-1].step if found else 0
