"""The sbatch script of one run, or of many as an array: one task per node, torchrun's c10d rendezvous, no ssh."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence

from papertrain.core.program import Program, Variable, shell_line, torchrun
from papertrain.core.site import Site
from papertrain.core.values import Value

DAY_HOURS = 24
MOST_RESTARTS = 50


class Task(Value, frozen=True, kw_only=True):
    """One run of a job. log: where its output goes, if not where the job's goes. ended: the file in which its exit code is left."""

    program: Program
    log: str = ""
    ended: str = ""


def sbatch(
    name: str, tasks: Sequence[Task], *, hours: float | None, gpus: bool, site: Site | None = None, notes: Sequence[str] = (), log: str = "", preflight: Sequence[str] = (),
) -> str:  # fmt: skip
    """The script; several tasks make an array. hours: predicted time of the longest, twice as much is asked for.

    preflight: a program that compares the nodes first, and the files it looks at. Every task must want the same nodes and devices.
    """
    site = site or Site()
    program = tasks[0].program
    wall, restarts = _times(hours, site)
    out = ["#!/bin/bash", *notes, f"#SBATCH --job-name={name}", f"#SBATCH --nodes={program.nodes}", "#SBATCH --ntasks-per-node=1"]  # fmt: skip
    if len(tasks) > 1:
        most = f"%{site.slurm.array_limit}" if site.slurm.array_limit else ""
        out.append(f"#SBATCH --array=0-{len(tasks) - 1}{most}")
    if gpus:
        card = f"{site.slurm.gpu_type}:" if site.slurm.gpu_type else ""
        word = f"--gres=gpu:{card}" if site.slurm.gpus == "gres" else f"--gpus-per-node={card}"
        out.append(f"#SBATCH {word}{program.devices}")
    out += [
        f"#SBATCH --cpus-per-task={site.slurm.cpus_per_gpu * program.devices if gpus else 2}",
        f"#SBATCH --time={wall}",
        f"#SBATCH --output={log or f'slurm-{name}-%j.log'}",
        "#SBATCH --open-mode=append",
        f"#SBATCH --signal=B:TERM@{site.slurm.signal_seconds}",
        "#SBATCH --requeue",
        *(f"#SBATCH {word}" for word in site.sbatch_words()),
        *(
            [f"# Account, partition, modules and folders as in {', '.join(_short(f) for f in site.files)}."]
            if site.files
            else ["# Account, partition and modules are your site's: say them once in site.toml."]
        ),
        "set -euo pipefail",
        'cd "$SLURM_SUBMIT_DIR"',
        *site.preparation(),
        'export MASTER_ADDR="$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)"',
        "# A port of this job's own, so that two jobs on one node do not meet.",
        'export MASTER_PORT="$((20000 + SLURM_JOB_ID % 20000))"',
        "# A job that Slurm starts again goes on from the last checkpoint.",
        'again="${SLURM_RESTART_COUNT:-0}"',
    ]
    if len(tasks) == 1:
        return "\n".join([*out, *_task(tasks[0], site, preflight), *_ending(site, restarts)]) + "\n"
    out.append('case "$SLURM_ARRAY_TASK_ID" in')
    for i, task in enumerate(tasks):
        out += [f"{i})", *(f"  {line}" for line in _task(task, site, preflight)), "  ;;"]
    return "\n".join([*out, "esac", *_ending(site, restarts)]) + "\n"


def _short(file: str) -> str:
    """A file's name and folder: what lies above them is nobody else's business."""
    return "/".join(file.split("/")[-2:])


def _times(hours: float | None, site: Site) -> tuple[str, int]:
    """(the wall time that is asked for, how often the job may be started again to get through)."""
    wanted = max(1, math.ceil(2 * hours)) if hours else DAY_HOURS
    limit = site.walltime_seconds
    if limit is None or wanted * 3600 <= limit:
        return f"{wanted}:00:00", 2
    days, rest = divmod(limit, 86400)
    shown = f"{rest // 3600:02}:{rest % 3600 // 60:02}:{rest % 60:02}"
    return f"{days}-{shown}" if days else shown, min(MOST_RESTARTS, math.ceil(wanted * 3600 / limit) + 2)


def _task(task: Task, site: Site, preflight: Sequence[str]) -> list[str]:
    p = task.program
    out = []
    if task.log:
        out.append(f"exec >> {shlex.quote(task.log)} 2>&1")
    if task.ended:
        out.append(f'ended={shlex.quote(task.ended)}; rm -f "$ended"')
    given: list[Variable] = [*p.environment]
    if p.kind == "tool":
        given += [v for v in torchrun(p)[1] if v.name not in ("NODE_RANK", "MASTER_ADDR", "MASTER_PORT")]
    out += [f"export {v.name}={_value(v.value)}" for v in given]
    if p.resume:
        out.append(f'more=""; if [ "$again" -gt 0 ]; then more="{shell_line(p.resume)}"; fi; export more')
    options, front = site.inside()
    srun = " ".join(["srun", *map(_value, options)])
    if preflight and p.nodes > 1:
        place = f'--nnodes {p.nodes} --nproc_per_node {p.devices} --rdzv_backend c10d --rdzv_id "$SLURM_JOB_ID.0" --rdzv_endpoint "$MASTER_ADDR:$MASTER_PORT"'
        out += ["# The nodes first: the same packages and files on all, cards without errors, one small all-reduce.",
                f"{srun} {_line(front, '')}torchrun {place} {shell_line(preflight)}"]  # fmt: skip
    return [*out, f"{srun} {_command(p, front)} &", "step=$!"]


def _command(p: Program, front: Sequence[str]) -> str:
    """What srun starts on every node."""
    more = " $more" if p.resume else ""
    if p.kind == "tool":
        return (
            f'bash -c \'export NODE_RANK="$SLURM_NODEID"; exec "$@"\' _ {_line(front, "")}{shell_line(p.words)}{more}'
        )
    if p.kind == "accelerate":
        words, _ = torchrun(p, node_rank="RANK_HERE", address="ADDRESS_HERE", port="PORT_HERE")
        text = shell_line([*front, *words]).replace("RANK_HERE", '"$SLURM_NODEID"').replace("ADDRESS_HERE", '"$MASTER_ADDR"').replace("PORT_HERE", '"$MASTER_PORT"')  # fmt: skip
        return f"bash -c {shlex.quote(f'exec {text}{more}')}"
    if p.kind == "python":
        place = f'--nnodes {p.nodes} --nproc_per_node {p.devices} --rdzv_backend c10d --rdzv_id "$SLURM_JOB_ID" --rdzv_endpoint "$MASTER_ADDR:$MASTER_PORT"'
        return f"{_line(front, '')}torchrun {place} {shell_line(p.words)}{more}"
    return f"{_line(front, '')}{shell_line(p.words)}{more}"


def _line(words: Sequence[str], nothing: str) -> str:
    return shell_line(words) + " " if words else nothing


def _value(text: str) -> str:
    """A value of a site's file may name a variable of the node: $USER, $SLURM_JOB_ID."""
    return f'"{text}"' if "$" in text and not set(text) & set('"`\\') and "$(" not in text else shlex.quote(text)


def _ending(site: Site, restarts: int) -> list[str]:
    """Shortly before the limit the training is told to save and stop; then the job is started again, and resumes."""
    out = [
        f"# {site.slurm.signal_seconds} seconds before the time limit the training is told: it saves a checkpoint and stops.",
        'told=""; trap \'told=1; scancel --signal=TERM "$SLURM_JOB_ID" || true\' TERM',
        'code=0; wait "$step" || code=$?',
        'while kill -0 "$step" 2>/dev/null; do code=0; wait "$step" || code=$?; done',
    ]
    if site.slurm.chain:
        out += [
            f"# Then the same job waits for its next turn, at most {restarts} times; a job that was cancelled does not.",
            f'if [ -n "$told" ] && [ "$code" != 0 ] && [ "$again" -lt {restarts} ] && [ "$(squeue -h -j "$SLURM_JOB_ID" -o %T)" = RUNNING ]; then',
            '  scontrol requeue "$SLURM_JOB_ID" && sleep 60',
            "fi",
        ]
    out.append('if [ -n "${ended:-}" ]; then printf \'{"exit_code": %d, "ended_at": "%s"}\\n\' "$code" "$(date -u +%FT%T+00:00)" > "$ended"; fi')  # fmt: skip
    return [*out, 'exit "$code"']
