"""What an attempt ended of: the scheduler's word, a signal from outside, the monitor's, or the diagnosis of its output."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

from msgspec import structs

from papertrain.core.errors import PapertrainError
from papertrain.core.texts import say
from papertrain.core.workspace import Workspace
from papertrain.run.kills import kernel_kills
from papertrain.run.slurm_jobs import INFRASTRUCTURE, JobEnd
from papertrain.verbs.launching.attempts import Attempt
from papertrain.verbs.launching.guard import Watch

CLEAR = 0.8
"""From this confidence on a run that ended with exit 0 is told to have failed."""


def judged(
    space: Workspace, run: str, now: Attempt, record: dict[str, Any], watch: Watch, log: Path | None, job: JobEnd | None, kills: int | None,
) -> tuple[Attempt, dict[str, Any] | None]:  # fmt: skip
    """What this attempt ended of, and the diagnosis where there is one."""
    stopped = watch.stopped or (watch.bad(final=True) if record["exit_code"] == 0 else None)
    if record["exit_code"] in (0, None) and stopped is None:
        late = _diagnosis(space, run, log) if record["exit_code"] == 0 and log is not None else None
        if late is None or late["branch"] != "training" or late["confidence"] < CLEAR:
            return now, None
        return _of_cause(now, late), late
    if record["stopped_by"]:
        return structs.replace(now, failure="interrupted-by-user", did="stopped", why=say("somebody asked it to stop")), None  # fmt: skip
    found = _diagnosis(space, run, log)
    if stopped is not None and watch.stopped is None and found is None:
        return now, None  # a word of the monitor on a run that ended well, which the end of its curve speaks against
    if stopped is not None:
        named = found["class"] if found else stopped.cls
        now = structs.replace(now, failure=named, confidence=found["confidence"] if found else 0.5, because=(stopped.says,),
                              detected_at_step=watch.seen_at_step or now.step, stopped_by_watch=stopped.says)  # fmt: skip
        return now, found
    outside = _from_outside(now, job, kills, found)
    if outside:
        return structs.replace(now, failure=outside[0], because=(outside[1],), confidence=0.9, detected_at_step=now.step), None  # fmt: skip
    if found is None:
        return structs.replace(now, failure="unknown", because=(say("no known cause fits its output"),), detected_at_step=now.step), None  # fmt: skip
    return _of_cause(now, found), found


def _of_cause(now: Attempt, found: dict[str, Any]) -> Attempt:
    because = tuple(f"{Path(e['file']).name}:{e['line']}: {e['text']}" for e in found["evidence"][:3])
    return structs.replace(now, failure=found["class"], confidence=found["confidence"], because=because, detected_at_step=now.step)  # fmt: skip


def _from_outside(
    now: Attempt, job: JobEnd | None, kills: int | None, found: dict[str, Any] | None
) -> tuple[str, str] | None:
    """A failure that the output need not name: the scheduler's word, or a signal that nobody here sent."""
    if job is not None and job.state in INFRASTRUCTURE:
        name = "job-time-limit" if job.state in ("TIMEOUT", "DEADLINE") else "hardware-node-failure" if job.state in ("NODE_FAIL", "BOOT_FAIL") else "preempted"  # fmt: skip
        return name, say("Slurm says {state} of the job on {nodes}", state=job.state, nodes=", ".join(job.nodes) or "-")
    # A curve, however bad, sends no signal: only the log's own word on a crash names another reason.
    vague = found is None or found["branch"] != "crash" or found["class"] in ("host-ram-oom-killer", "torchrun-wrapper-hides-oom")  # fmt: skip
    if now.exit_code in (137, 143, 129) and vague:
        after = kernel_kills()
        if kills is not None and after is not None and after > kills:
            return "host-ram-oom-killer", say("the kernel has killed {n} processes for want of memory meanwhile", n=after - kills)  # fmt: skip
        if found is None or found["branch"] != "crash" or kills is not None:
            name = signal.Signals(now.exit_code - 128).name
            return "killed-from-outside", say("{signal} from outside; the kernel's counter of memory kills has not moved", signal=name)  # fmt: skip
    return None


def _diagnosis(space: Workspace, run: str, log: Path | None) -> dict[str, Any] | None:
    """The first cause that `diagnose` finds in this attempt's output; else in the whole run."""
    from papertrain.verbs.diagnose import diagnose

    for paths in ([log] if log is not None else [], [space.run_path(run)]):
        if not paths:
            continue
        try:
            found = [d for d in diagnose(paths).data["diagnoses"] if not d["benign"]]
        except (PapertrainError, OSError):
            continue
        if found:
            return dict(found[0])
    return None
