"""A run that is watched over: what may be done about a failure by itself, and when it is started again."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import structs

from papertrain.core.errors import PapertrainError
from papertrain.core.files import size_of
from papertrain.core.texts import say
from papertrain.core.values import Mode, Value
from papertrain.core.workspace import Workspace, has_checkpoint
from papertrain.run import record as records
from papertrain.run.checkpoints import checkpoints, keep_good
from papertrain.run.kills import kernel_kills
from papertrain.run.slurm_jobs import JobEnd, cancel, excluding, wait
from papertrain.verbs.launching import attempts, causes, repairs, starting
from papertrain.verbs.launching.attempts import Attempt
from papertrain.verbs.launching.guard import Watch
from papertrain.verbs.launching.here import variables
from papertrain.verbs.launching.ready import ready

if TYPE_CHECKING:
    from papertrain.core.environment import Environment
    from papertrain.verbs.launching.ready import Ready

FREE = 2**30
NOT_THE_RUN = frozenset({
    "hardware-node-failure", "hardware-gpu-xid", "hardware-gpu-ecc", "hardware-gpu-crash", "hardware-gpu-bad-node",
    "hang-filesystem-freeze", "job-time-limit", "disk-full-checkpoint", "checkpoint-truncated-disk-full", "checkpoint-corrupt-zip",
    "port-in-use", "nccl-remote-lost", "gpu-memory-held-by-others",
})  # fmt: skip
"""Failures of the machines, not of what is trained: to start again is the cure."""
DISK = frozenset({"disk-full-checkpoint", "checkpoint-truncated-disk-full"})
HOST = re.compile(r"(?:[Nn]ode failure on|srun: error:|ON|host\s*:|hostname=)\s*([A-Za-z][\w.-]*\d[\w.-]*)")


class Policy(Value, frozen=True, kw_only=True):
    """What may be done without asking. times: how often a run is started again at most, for whatever reason."""

    requeue: bool = False
    repair: bool = False
    times: int = 3


def policy(supervise: bool, requeue: bool, repair: str | None, restarts: int) -> Policy | None:
    """None where the run is not supervised. To requeue or to repair is to supervise. Raises PapertrainError."""
    if restarts < 0:
        raise PapertrainError("--restarts is a count: 0 or more", code="bad-value")
    if not (supervise or requeue or repair):
        return None
    return Policy(requeue=requeue, repair=repair == "execution", times=restarts)


def supervised(
    space: Workspace,
    one: Ready,
    environment: Environment | None,
    advance: Callable[[int, int], None],
    policy: Policy,
    mode: Mode,
    more: Sequence[str] = (),
) -> dict[str, Any]:
    """Start, watch, and on a failure diagnose; start again only as the policy allows. Returns the last record, with
    `supervised`: the attempts and why it ended."""
    run = one.run.id
    place = space.run_path(run)
    done: list[Attempt] = []
    banned: list[str] = []
    extra: dict[str, str] = {}
    while True:
        last = checkpoints(place)
        start_at, kills = size_of(place / "stdout.log"), kernel_kills()
        resumed = last[-1].step if one.resume and last else None
        watch = Watch(place)
        record = starting.started(space, one, environment, watch.beside(advance))
        job = None
        if record.get("job") and record.get("exit_code") is None:
            job = _waited(space, one, environment, record, watch)
        number = len(done) + 1
        text = attempts.attempt_log(space, run, number, start_at)
        now = Attempt(
            number=number,
            started_at=record["started_at"],
            ended_at=record["ended_at"],
            seconds=record["seconds"],
            exit_code=record["exit_code"],
            resumed_from=resumed,
            step=max(watch.step, int(record["last"].get("step") or 0)),
        )
        now, found = causes.judged(space, run, now, record, watch, text, job, kills)
        attempts.closed(done, now, space)
        if not now.failure or record["stopped_by"]:
            done.append(now)
            break
        now, again = _decided(space, one, now, found, policy, mode, done, banned, extra, job)
        done.append(now)
        attempts.write(space, run, done)
        if not again:
            break
        if "ended" not in record or record["exit_code"] is None:
            record["exit_code"] = now.exit_code
        one = _next(space, one, environment, banned, extra, more)
    attempts.write(space, run, done)
    record = dict(record) | {"supervised": attempts.plain(done)}
    starting.write_record(space, f"runs/{run}", record)
    return record


def _waited(
    space: Workspace, one: Ready, environment: Environment | None, record: dict[str, Any], watch: Watch
) -> JobEnd:
    """A submitted job, to its end; its record is completed."""
    given = variables(one, environment)
    job = str(record["job"])
    watch.kill = lambda: cancel(job, given)
    began = time.monotonic()
    end = wait(job, given, tick=watch.look)
    record |= {"exit_code": end.exit_code, "ended_at": records.now(), "seconds": round(time.monotonic() - began, 3),
               "job_state": end.state, "nodes": list(end.nodes), "outputs": records.outputs(space.run_path(one.run.id), space.root)}  # fmt: skip
    starting.write_record(space, f"runs/{one.run.id}", record)
    return end


def _decided(
    space: Workspace, one: Ready, now: Attempt, found: dict[str, Any] | None, policy: Policy, mode: Mode, done: Sequence[Attempt],
    banned: list[str], extra: dict[str, str], job: JobEnd | None,
) -> tuple[Attempt, bool]:  # fmt: skip
    """Whether it is started again, and what is changed before. Checkpoints that a run must not go on from are set aside."""
    place = space.run_path(one.run.id)

    def stop(why: str) -> tuple[Attempt, bool]:
        return structs.replace(now, did="stopped", why=why), False

    outside = now.failure in NOT_THE_RUN or now.failure in ("killed-from-outside", "preempted")
    if not (policy.requeue and outside) and not policy.repair:
        if outside and not policy.requeue:
            return stop(say("a failure of the machines: --requeue starts it again from the last good checkpoint"))
        return stop(say("nothing is changed or started again by itself here"))
    if same := _same(done, now):
        return stop(say("the same failure twice, at step {step}: starting again does not help", step=same.step))
    if len(done) >= policy.times:
        return stop(say("started again {n} times already", n=len(done)))
    began = now.detected_at_step if now.stopped_by_watch else None
    if policy.requeue and outside:
        if now.failure in DISK and (free := shutil.disk_usage(place).free) < FREE:
            return stop(say("the disk has {free:,} bytes left: make room first", free=free))
        _, aside = keep_good(place, _onset(now))
        nodes = _bad_nodes(now, job)
        banned += [n for n in nodes if n not in banned]
        last = attempts.last_step(place)
        why = say("a failure of the machines; it goes on from step {step}", step=last) if last else say("a failure of the machines; there is no checkpoint yet: it starts anew")  # fmt: skip
        return structs.replace(now, did="requeued", why=why, excluded_nodes=tuple(nodes), set_aside=tuple(aside), detected_at_step=began or now.detected_at_step), True  # fmt: skip
    if not policy.repair or found is None:
        return stop(say("no cause that a change of execution mends was found"))
    mended = repairs.mend(space, one.run.id, found, mode)
    if isinstance(mended, str):
        return stop(mended)
    extra.update(mended.pop("environment"))
    _, aside = keep_good(place, _onset(now))
    return structs.replace(now, did="repaired", why=mended["title"], fix=mended, set_aside=tuple(aside)), True


def _onset(now: Attempt) -> int | None:
    """The step from which on the weights are spoilt: only where the loss was not finite."""
    if not now.stopped_by_watch or not now.failure.startswith(("nan-", "loss-zero-")):
        return None
    m = re.search(r"step (\d+)", now.stopped_by_watch)
    return int(m[1]) if m else None


def _same(done: Sequence[Attempt], now: Attempt) -> Attempt | None:
    """An earlier attempt that failed alike and came as far: a later one with a newer step is progress."""
    return next((a for a in done if a.failure == now.failure and now.step <= a.step), None)


def _bad_nodes(now: Attempt, job: JobEnd | None) -> list[str]:
    """Nodes that Slurm or the output blames; the only node of a job that ran on one."""
    if job is None or now.failure in ("preempted", "job-time-limit"):
        return []
    named = [m[1].rstrip(".:") for text in now.because for m in HOST.finditer(text)]
    found = [*job.failed, *(n for n in named if n in job.nodes or not job.nodes)]
    if not found and len(job.nodes) == 1 and now.failure.startswith("hardware-"):
        found = list(job.nodes)
    return list(dict.fromkeys(found))


def _next(
    space: Workspace, one: Ready, environment: Environment | None, banned: Sequence[str], extra: Mapping[str, str], more: Sequence[str]
) -> Ready:  # fmt: skip
    """The same run, to be started again: from its last checkpoint if it has one, with what was changed."""
    again = ready(
        space, one.run, environment, target=one.target if one.target != "command" else None, launcher=one.launcher,
        resume=has_checkpoint(space.run_path(one.run.id)), more=more, added=extra,
    )  # fmt: skip
    start = structs.replace(again.start, words=excluding(again.start.words, banned))
    return structs.replace(again, start=start, asked_environment=one.asked_environment)
