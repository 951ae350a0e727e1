"""A run that is watched over: what a failure is, what may be done about it by itself, and the record of each attempt."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from papertrain.core.commands import quoted
from papertrain.core.errors import PapertrainError
from papertrain.core.files import Writer, size_of
from papertrain.core.program import Variable
from papertrain.core.texts import say
from papertrain.core.values import Mode, Value
from papertrain.core.workspace import has_checkpoint
from papertrain.run.checkpoints import checkpoints, keep_good
from papertrain.run.kills import kernel_kills
from papertrain.run.slurm_jobs import INFRASTRUCTURE, JobEnd, cancel, excluding, wait
from papertrain.verbs.fixing import applying
from papertrain.verbs.launching import repairs, starting

if TYPE_CHECKING:
    from papertrain.core.environment import Environment
    from papertrain.core.workspace import Workspace
    from papertrain.monitor.verdict import SignalState
    from papertrain.verbs.launching.starting import Ready

RECORD = "supervised.json"
LOOK_SECONDS = 3.0
LARGEST_LOG = 256 * 2**20
"""Bytes of an attempt's output that are kept for its diagnosis, from its end."""
FREE = 2**30
CLEAR = 0.8
"""From this confidence on a run that ended with exit 0 is told to have failed."""
CURVES = frozenset({"train_loss", "eval_loss", "grad_norm"})
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
        text = _attempt_log(space, run, number, start_at)
        now = Attempt(
            number=number,
            started_at=record["started_at"],
            ended_at=record["ended_at"],
            seconds=record["seconds"],
            exit_code=record["exit_code"],
            resumed_from=resumed,
            step=max(watch.step, int(record["last"].get("step") or 0)),
        )
        now, found = _judged(space, run, now, record, watch, text, job, kills)
        _closed(done, now, space)
        if not now.failure or record["stopped_by"]:
            done.append(now)
            break
        now, again = _decided(space, one, now, found, policy, mode, done, banned, extra, job)
        done.append(now)
        _write(space, run, done)
        if not again:
            break
        if "ended" not in record or record["exit_code"] is None:
            record["exit_code"] = now.exit_code
        one = _next(space, one, environment, banned, extra, more)
    _write(space, run, done)
    record = dict(record) | {"supervised": _plain(done)}
    starting.write_record(space, f"runs/{run}", record)
    return record


class Watch:
    """The monitor beside the run. It ends a run whose loss is not finite any more, or that hangs: nothing that comes
    after is worth its time. Killed, not asked: a checkpoint of such weights would push a good one out."""

    def __init__(self, place: Path) -> None:
        from papertrain.monitor.live import Follower

        self.place = place
        self.kill: Callable[[], None] = self._kill
        self.step = 0
        self.stopped: SignalState | None = None
        self.seen_at_step = 0
        self.follower: Follower | None = None
        self.make: Callable[[], Follower] = lambda: Follower([place], lambda path: None)
        self.next_look = time.monotonic() + LOOK_SECONDS
        self.sizes = {p: size_of(p) for p in place.glob("*.jsonl")} if place.is_dir() else {}

    def beside(self, advance: Callable[[int, int], None]) -> Callable[[int, int], None]:
        def tick(step: int, total: int) -> None:
            self.step = max(self.step, step)
            advance(step, total)
            self.look()

        return tick

    def look(self) -> None:
        if self.stopped is not None or time.monotonic() < self.next_look:
            return
        began = time.monotonic()
        bad = self.bad()
        self.next_look = time.monotonic() + max(LOOK_SECONDS, 20 * (time.monotonic() - began))
        if bad is not None:
            self.stopped, self.seen_at_step = bad, self.step
            self.kill()

    def bad(self, final: bool = False) -> SignalState | None:
        """The first signal that makes going on pointless; at the end of a run every critical word on its curves."""
        try:
            self.follower = self.follower or self.make()
            found = self.follower.look()
        except (PapertrainError, OSError):
            self.follower = None
            return None
        for e in found:
            self.step = max(self.step, e.last_step)
            for s in e.signals:
                if s.level == "critical" and ((hopeless(s) and not e.ended) or (final and s.name in CURVES)):
                    return s
        return None

    def _kill(self) -> None:
        try:
            pid = json.loads((self.place / "record.json").read_text("utf-8"))["pid"]
            os.killpg(int(pid), signal.SIGKILL)
        except (OSError, ValueError, KeyError, TypeError):
            return


def hopeless(s: SignalState) -> bool:
    not_finite = s.rule == "TR103" and s.name == "train_loss"
    return not_finite or (s.name == "heartbeat" and s.rule == "TR124")


def _waited(
    space: Workspace, one: Ready, environment: Environment | None, record: dict[str, Any], watch: Watch
) -> JobEnd:
    """A submitted job, to its end; its record is completed."""
    variables = starting.variables(one, environment)
    job = str(record["job"])
    watch.kill = lambda: cancel(job, variables)
    began = time.monotonic()
    end = wait(job, variables, tick=watch.look)
    from papertrain.run import record as records

    record |= {"exit_code": end.exit_code, "ended_at": records.now(), "seconds": round(time.monotonic() - began, 3),
               "job_state": end.state, "nodes": list(end.nodes), "outputs": records.outputs(space.run_path(one.run.id), space.root)}  # fmt: skip
    starting.write_record(space, f"runs/{one.run.id}", record)
    return end


def _judged(
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
        last = _last_step(place)
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
    again = starting.ready(
        space, one.run, environment, target=one.target if one.target != "command" else None, launcher=one.launcher,
        resume=has_checkpoint(space.run_path(one.run.id)), more=more,
    )  # fmt: skip
    kept = [v for v in again.start.environment if v.name not in extra]
    variables = (*kept, *(Variable(k, v) for k, v in extra.items()))
    start = structs.replace(again.start, environment=variables, words=excluding(again.start.words, banned))
    if start.submits and extra:
        script = start.script
        for name, value in extra.items():
            script = script.replace("set -euo pipefail\n", f"set -euo pipefail\nexport {name}={quoted(value)}\n", 1)
        start = structs.replace(start, script=script)
    return structs.replace(again, start=start, asked_environment=one.asked_environment)


def _closed(done: list[Attempt], now: Attempt, space: Workspace) -> None:
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


def _attempt_log(space: Workspace, run: str, number: int, start_at: int) -> Path | None:
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


def _write(space: Workspace, run: str, done: Sequence[Attempt]) -> None:
    with Writer(space.root, overwrite=True) as w:
        w.text(f"runs/{run}/{RECORD}", json.dumps(_plain(done), indent=2, ensure_ascii=False) + "\n")


def _plain(done: Sequence[Attempt]) -> dict[str, Any]:
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
    good = _last_step(place)
    kept = say("the last good checkpoint is of step {step}", step=good) if good else say("there is no good checkpoint")
    return result, f"{last['why']}; {kept}; {where}", f"papertrain diagnose {quoted(place)}"


def _last_step(place: Path) -> int:
    found = [c for c in checkpoints(place) if not c.problem]
    return found[-1].step if found else 0
