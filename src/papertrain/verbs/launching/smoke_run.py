"""A smoke run: ten real steps on the longest samples, validation, save, kill and resume; what was measured is kept."""

from __future__ import annotations

import json
import signal
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

from papertrain.core.commands import line
from papertrain.core.errors import Refused
from papertrain.core.evidence import append_evidence
from papertrain.core.files import read_text, sha256_file
from papertrain.core.gate import require_confirmed
from papertrain.core.progress import bar
from papertrain.core.report import Report
from papertrain.core.results import Evidence
from papertrain.core.texts import say
from papertrain.core.units import show_bytes, show_seconds
from papertrain.core.writing import Writer, contained
from papertrain.run.process import end_group
from papertrain.run.progress import Follower
from papertrain.verbs.launching import before, showing, starting
from papertrain.verbs.launching.here import cannot_start, variables
from papertrain.verbs.launching.ready import Ready, ready
from papertrain.verbs.launching.told import last_said

if TYPE_CHECKING:
    from papertrain.core.environment import Environment
    from papertrain.core.values import Mode
    from papertrain.core.workspace import Run, Workspace

STEPS, SAVED_AT, KILLED_AT = 10, 5, 7
LOG_LIMIT = 64 * 2**20
MEASURED = ("allocated_bytes", "reserved_bytes", "device_bytes", "host_bytes")


def smoke(
    work: Workspace, run: Run, environment: Environment | None, mode: Mode, *, target: str | None, start: bool
) -> Report:
    """Show or do it. The kill comes after the first checkpoint, so that what resume does is seen too."""
    if work.study.method(run.method).kind == "command":
        raise Refused(
            f"{run.method} is a command of yours: a smoke run needs a training that papertrain planned", code="no-smoke"
        )
    require_confirmed(work, run.method, mode, say("launch of {run}", run=run.id))
    folder = f"smoke/{run.method}"
    first = _ready(work, run, environment, target, folder, resume=False)
    if first.target != "script":
        raise Refused(
            f"a smoke run starts the custom script; {first.target} was asked for",
            code="no-smoke",
            command=line("papertrain", "generate", work.root, "--target", "script"),
        )
    if first.start.submits:
        raise Refused(
            "a smoke run starts here and is watched: go to a node with the cards first",
            code="no-smoke",
            ask=["srun --pty bash, or salloc, then the same command"],
        )
    body = "\n".join(showing.shown(first, environment)).replace(f"runs/{run.id}", folder)
    stopped = cannot_start(work, first, environment) or before.without_cards(work, [first])
    if start and stopped is not None:
        raise stopped
    again = line("papertrain", "launch", work.root, "--smoke", "--yes")
    if not start:
        return Report(verb="launch", mode=mode, result=say("a smoke run of {run}: {n} steps, killed after {k} and resumed", run=run.id, n=STEPS, k=KILLED_AT),
                      body=body, explanation=say("nothing was started: add --yes to start it"), action=again if stopped is None else stopped.command or again, warnings=() if stopped is None else ("; ".join((stopped.says, *stopped.ask)),),
                      data={"runs": [{"run": run.id, "argv": list(first.start.words)}], "started": False})  # fmt: skip
    place = work.root / folder
    contained(work.root, place)
    _clear(place)
    with bar(say("smoke run")) as advance:
        _killed(work, first, environment, folder, advance)
        second = starting.started(
            work, _ready(work, run, environment, target, folder, resume=True), environment, advance, folder
        )
    return _told(work, run, place, folder, second, mode)


def _ready(
    work: Workspace, run: Run, environment: Environment | None, target: str | None, folder: str, *, resume: bool
) -> Ready:
    words = (
        "--max_steps",
        str(STEPS),
        "--save_steps",
        str(SAVED_AT),
        "--eval_steps",
        str(STEPS),
        "--logging_steps",
        "1",
        "--longest_first",
        "--test_file",
        "",
    )
    return ready(work, run, environment, target=target, launcher=None, resume=resume, more=words, root=folder)


def _clear(place: Path) -> None:
    """Only what an earlier smoke run left here."""
    import shutil

    if (place / "record.json").is_file():
        shutil.rmtree(place)


def _killed(work: Workspace, one: Ready, environment: Environment | None, folder: str, advance: Any) -> None:
    """The first part: ended with SIGKILL once the step after the checkpoint is in the log."""
    place, follower = work.root / folder, Follower(work.root / folder)
    pid: list[int] = []

    def look() -> None:
        step, total = follower.read()
        advance(step, total * 2)
        if step >= KILLED_AT and pid:
            end_group(pid[0], signal.SIGKILL)

    from papertrain.run.process import run as run_process

    (place).mkdir(parents=True, exist_ok=True)
    with Writer(work.root, overwrite=True) as w:
        w.text(f"{folder}/record.json", json.dumps({"smoke": True}) + "\n")
    run_process(
        one.start.words,
        folder=work.root,
        environment=variables(one, environment),
        log=place / "stdout.log",
        started=pid.append,
        tick=look,
        every_seconds=0.05,
    )


def _told(work: Workspace, run: Run, place: Path, folder: str, record: dict[str, Any], mode: Mode) -> Report:
    """What was measured, as evidence, and the time of the whole run from it."""
    lines = _log(place / "train_log.jsonl")
    steps = [x for x in lines if "loss" in x]
    resumed = any(x.get("event") == "resume" for x in lines)
    if record["exit_code"] != 0 or not resumed or not steps or steps[-1]["step"] != STEPS:
        return Report(verb="launch", mode=mode, level="error", result=say("the smoke run of {run} failed with exit code {code}", run=run.id, code=record["exit_code"]),
                      explanation=last_said(place / "stdout.log"), action=line("papertrain", "diagnose", place), data={"runs": [record], "started": True})  # fmt: skip
    measured = _measured(steps, place)
    plan = work.plan(run.method)
    with Writer(work.root, overwrite=True) as w:
        w.text(f"{folder}/all_results.json", json.dumps(_for_calibration(measured), indent=2) + "\n")
        log = f"{folder}/train_log.jsonl"
        told = append_evidence(w, work.root, [
            Evidence(id="", claim=f"smoke run of {run.id}: {name}", value=value, file=log, sha256=sha256_file(work.root / log), unit=_unit(name), status="verified",
                     made_by=record["command"], seed=run.seed)
            for name, value in measured.items()
        ])  # fmt: skip
    total = plan.total_steps.value
    eta = measured["step_seconds"] * total if total else None
    table = [f"  {name:<22} {_shown(name, value):>12}   {e.id}" for (name, value), e in zip(measured.items(), told)]
    planned = plan.duration.step_seconds.value if plan.duration else None
    why = say(
        "{n} steps on the longest samples, killed after step {k} and resumed from checkpoint-{s}",
        n=STEPS,
        k=KILLED_AT,
        s=SAVED_AT,
    )
    if planned:
        why += say("; the plan predicted {time} per step", time=show_seconds(planned))
    result = say("it runs and resumes: {time} per step", time=show_seconds(measured["step_seconds"]))
    if eta:
        result += say(
            ", so {total} steps take at most about {eta} (measured)", total=f"{total:,}", eta=show_seconds(eta)
        )
    return Report(verb="launch", mode=mode, result=result, body="\n".join(table), explanation=why, action=line("papertrain", "launch", work.root, "--yes"),
                  data={"runs": [record], "started": True, "measured": measured, "evidence": [e.id for e in told], "total_seconds": eta})  # fmt: skip


def _log(path: Path) -> list[dict[str, Any]]:
    found = []
    for row in read_text(path, limit=LOG_LIMIT).splitlines() if path.is_file() else ():
        try:
            found.append(json.loads(row))
        except ValueError:
            continue
    return [x for x in found if isinstance(x, dict)]


def _measured(steps: list[dict[str, Any]], place: Path) -> dict[str, float]:
    """Step time without the first two steps of each start, which pay for lazy set-up; peaks of memory; size of a checkpoint."""
    settled = [x["step_seconds"] for x in steps if x["step"] in (3, 4, 8, 9, 10)] or [x["step_seconds"] for x in steps]
    found: dict[str, float] = {"step_seconds": statistics.median(settled)}
    for key in MEASURED:
        values = [x[key] for x in steps if isinstance(x.get(key), (int, float))]
        if values:
            found[key] = max(values)
    for x in steps:
        for rank, one in enumerate(x.get("ranks") or []):
            for key in MEASURED:
                if key in one:
                    found[f"{key}_rank{rank}"] = max(found.get(f"{key}_rank{rank}", 0), one[key])
    saved = sorted(place.glob("checkpoint-*"))
    if saved:
        found["checkpoint_bytes"] = sum(p.stat().st_size for p in saved[-1].rglob("*") if p.is_file())
    return found


def _for_calibration(measured: dict[str, float]) -> dict[str, float]:
    """The Trainer's own names, which `plan --calibrate` reads."""
    found = {"train_steps_per_second": 1 / measured["step_seconds"]}
    if "allocated_bytes" in measured:
        found |= {
            "init_mem_gpu_alloc_delta": 0,
            "train_mem_gpu_alloc_delta": 0,
            "train_mem_gpu_peaked_delta": measured["allocated_bytes"],
        }
    return found


def _unit(name: str) -> str:
    return "s" if name == "step_seconds" else "B"


def _shown(name: str, value: float) -> str:
    return show_seconds(value) if name == "step_seconds" else show_bytes(value)
