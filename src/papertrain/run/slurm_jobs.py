"""A Slurm job that is waited for: how it ended and on which nodes, asked of squeue, sacct and scontrol."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from papertrain.core.values import Value

ALIVE = frozenset({"PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "SUSPENDED", "STAGE_OUT", "REQUEUED", "REQUEUE_HOLD", "RESIZING", "SIGNALING", "STOPPED"})  # fmt: skip
INFRASTRUCTURE = frozenset({"NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "TIMEOUT", "DEADLINE", "LAUNCH_FAILED"})
"""States in which the job itself did nothing wrong."""
EVERY_SECONDS = 20.0
LOST_AFTER = 5
"""Looks in a row that found no state at all: the job is then taken as gone."""


class JobEnd(Value, frozen=True, kw_only=True):
    """state: Slurm's own word. exit_code as a shell would say it. nodes: where it ran. failed: nodes that Slurm blames."""

    state: str
    exit_code: int
    nodes: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


def wait(
    job: str,
    environment: Mapping[str, str],
    *,
    tick: Callable[[], None] = lambda: None,
    every_seconds: float | None = None,
) -> JobEnd:
    """Until the job has ended. tick is called at every look."""
    pause = EVERY_SECONDS if every_seconds is None else every_seconds
    unseen = 0
    while True:
        state = _state(job, environment)
        unseen = 0 if state else unseen + 1
        if (state and state not in ALIVE) or unseen >= LOST_AFTER:
            break
        tick()
        time.sleep(pause)
    tick()
    return _end(job, environment, state or "UNKNOWN")


def cancel(job: str, environment: Mapping[str, str]) -> None:
    _ask(["scancel", job], environment)


def _state(job: str, environment: Mapping[str, str]) -> str:
    said = _ask(["squeue", "-h", "-j", job, "-o", "%T"], environment).split()
    if said and said[0] in ALIVE:
        return said[0]
    state, _, _ = _accounted(job, environment)
    return state or (said[0] if said else "")


def _end(job: str, environment: Mapping[str, str], state: str) -> JobEnd:
    accounted, code, nodes = _accounted(job, environment)
    shown = _ask(["scontrol", "show", "job", job, "-o"], environment)
    if not nodes and (m := re.search(r"\bNodeList=(\S+)", shown)) and m[1] != "(null)":
        nodes = m[1]
    if code is None and (m := re.search(r"\bExitCode=(\d+):(\d+)", shown)):
        code = int(m[1]) or (128 + int(m[2]) if int(m[2]) else 0)
    failed = (m[1],) if (m := re.search(r"\bFailedNode=(\S+)", shown)) and m[1] != "(null)" else ()
    final = accounted or state
    good = final == "COMPLETED"
    return JobEnd(
        state=final, exit_code=(code or 0) if good else (code or 1), nodes=hosts(nodes, environment), failed=failed
    )


def _accounted(job: str, environment: Mapping[str, str]) -> tuple[str, int | None, str]:
    """(state, exit code, node list) of the whole job as the accounting keeps it; empty where there is no accounting."""
    said = _ask(["sacct", "-n", "-P", "-X", "-j", job, "-o", "State,ExitCode,NodeList"], environment)
    rows = [line.split("|") for line in said.splitlines() if line.count("|") >= 2]
    if not rows:
        return "", None, ""
    state, code, nodes = rows[-1][:3]
    m = re.fullmatch(r"(\d+):(\d+)", code.strip())
    number = None if m is None else int(m[1]) or (128 + int(m[2]) if int(m[2]) else 0)
    return (state.split() or [""])[0], number, nodes if "assigned" not in nodes else ""


def hosts(nodes: str, environment: Mapping[str, str]) -> tuple[str, ...]:
    """`gpu[01-03,07]` as four names; Slurm's own tool knows best."""
    if not nodes:
        return ()
    if "[" not in nodes:
        return tuple(n for n in nodes.split(",") if n)
    said = _ask(["scontrol", "show", "hostnames", nodes], environment).split()
    return tuple(said) or tuple(_expanded(nodes))


def _expanded(nodes: str) -> list[str]:
    found: list[str] = []
    for part in re.findall(r"[^,\[]+(?:\[[^\]]*\])?", nodes):
        name, _, inside = part.partition("[")
        if not inside:
            found.append(name)
            continue
        for piece in inside.rstrip("]").split(","):
            low, _, high = piece.partition("-")
            if low.isdigit() and (high or low).isdigit():
                found += [
                    f"{name}{i:0{len(low)}d}" for i in range(int(low), min(int(high or low), int(low) + 9999) + 1)
                ]
    return found


def says(words: Sequence[str], script: str, folder: Path, environment: Mapping[str, str]) -> str:
    """What a command of Slurm prints about a script; empty where there is none, or no answer."""
    try:
        done = subprocess.run(list(words), input=script, capture_output=True, text=True, cwd=folder, timeout=60, env=dict(environment), errors="replace")  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stderr or done.stdout


def excluding(words: Sequence[str], nodes: Sequence[str]) -> tuple[str, ...]:
    """The words of a submission that keeps off these nodes."""
    if not nodes or not words or words[0] != "sbatch":
        return tuple(words)
    return (words[0], f"--exclude={','.join(nodes)}", *(w for w in words[1:] if not w.startswith("--exclude=")))


def _ask(words: list[str], environment: Mapping[str, str]) -> str:
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, env=dict(environment), stdin=subprocess.DEVNULL, errors="replace")  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout if done.returncode == 0 else ""
