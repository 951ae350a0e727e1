"""commands.md and commands.sh: how each target is started on one device, several, several nodes, Slurm, Ray, Ascend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import structs

from papertrain.configs.environment import environment, quirks
from papertrain.configs.lines import unconfirmed
from papertrain.configs.programs import STARTED, deepspeed_file, elsewhere, program
from papertrain.configs.target import Files, Job
from papertrain.configs.targets import accelerate
from papertrain.core.program import Program, Variable, alone, shell_line, torchrun
from papertrain.core.slurm import Task, sbatch
from papertrain.core.values import Value

PREFLIGHT = Path(__file__).parent / "targets/script_files/preflight.py"


class Way(Value, frozen=True, kw_only=True):
    """One way to start one target. name: its word in commands.sh. told: variables that differ from machine to machine."""

    name: str
    title: str
    line: str
    environment: tuple[Variable, ...] = ()
    remark: str = ""
    told: tuple[str, ...] = ()


def ways(job: Job, target: str) -> list[Way]:
    """Every way to start a target of this job; the planned one comes first."""
    base = f"{job.name}/{target}"
    one, several, nodes = (
        _sized(job, target, *size) for size in ((1, 1), (max(2, job.per_node), 1), (job.per_node, max(2, job.nodes)))
    )
    found = [_one(base, one), _several(base, several)]
    if target == "script":
        found += _accelerate(job, base, several)
    found.append(_nodes(base, nodes))
    found = [
        _batch_kept(job, target, way, program)
        for way, program in zip(found, [one, several, *[several] * (len(found) - 3), nodes])
    ]
    slurm = f"{job.folder('slurm')}/{target}.sbatch"
    found.append(
        Way(
            name=f"{base}-slurm",
            title="Slurm",
            line=f"sbatch {slurm}",
            remark=f"`sbatch --test-only {slurm}` checks it without starting.",
        )
    )
    inner = found[0 if job.devices == 1 else 1].name
    line = f'ray job submit --address "${{RAY_ADDRESS:-http://127.0.0.1:8265}}" --working-dir . -- bash commands.sh {inner}'
    found.append(Way(name=f"{base}-ray", title="Ray job", line=line))
    if target == "llamafactory":
        found += _after(job, base)
    planned = "-nodes" if job.nodes > 1 else "-several" if job.devices > 1 else "-one"
    return sorted(found, key=lambda way: not way.name.endswith(planned))


def _after(job: Job, base: str) -> list[Way]:
    """What LLaMA-Factory does with the trained model, under the template that it was trained with."""
    steps = {
        "predict": ("predictions of the held-out file", "train"),
        "export": ("adapters merged into the weights", "export"),
        "chat": ("a talk with it", "chat"),
    }
    here = job.folder("llamafactory")
    known = {"chat"} | ({"predict"} if job.task == "sft" else set()) | ({"export"} if job.adapters else set())
    return [
        Way(
            name=f"{base}-{name}",
            title=title,
            line=f"llamafactory-cli {verb} {here}/{name}.yaml",
            environment=tuple(environment(job, "llamafactory")),
        )
        for name, (title, verb) in steps.items()
        if name in known
    ]


def _sized(job: Job, target: str, devices: int, nodes: int) -> Program:
    """The program on so many devices; the global batch of the plan is kept where that can be."""
    return program(job, target, more=elsewhere(job, target, devices * nodes) or (), size=(devices, nodes))


def _batch_kept(job: Job, target: str, way: Way, p: Program) -> Way:
    """A remark where this number of devices changes the experiment, or needs more memory than was planned."""
    if job.shards and p.devices * p.nodes < job.devices:
        text = f"The plan shards over {job.devices} devices (ZeRO-{job.zero_stage}): each of {p.devices * p.nodes} needs more memory than planned."
        way = structs.replace(way, remark=f"{way.remark} {text}".strip())
    if elsewhere(job, target, p.devices * p.nodes) is not None:
        return way
    now = int(job.micro_batch_size) * int(job.gradient_accumulation_steps) * p.devices * p.nodes
    return structs.replace(
        way,
        remark=f"{way.remark} The global batch becomes {now} instead of {job.global_batch_size}: another experiment.".strip(),
    )


def _one(base: str, p: Program) -> Way:
    return Way(name=f"{base}-one", title="one device", line=shell_line(alone(p, "python")), environment=p.environment)


def _several(base: str, p: Program) -> Way:
    words, added = torchrun(p)
    title = f"{p.devices} devices of one machine"
    return Way(name=f"{base}-several", title=title, line=shell_line(words), environment=(*p.environment, *added))


NODE = ("NODE_RANK", "MASTER_ADDR", "MASTER_PORT")
"""What each machine must be told: which of them it is, and where they meet."""


def _nodes(base: str, p: Program) -> Way:
    words, added = torchrun(p, node_rank="$NODE_RANK", address="$MASTER_ADDR", port="$MASTER_PORT")
    remark = "On every machine: NODE_RANK is its number (0, 1, …; RANK is another thing), MASTER_ADDR the first machine's address, MASTER_PORT the same everywhere."
    variables = (*p.environment, *(v for v in added if v.name not in NODE))
    return Way(
        name=f"{base}-nodes", title=f"{p.nodes} machines", line=shell_line(words), environment=variables, remark=remark, told=NODE,
    )  # fmt: skip


def _accelerate(job: Job, base: str, p: Program) -> list[Way]:
    """accelerate's own launcher: the file says what the variables say elsewhere."""
    config, variables = f"{job.folder('accelerate')}/{accelerate.name(job)}", tuple(environment(job, "script"))
    found = []
    if job.devices > 1:
        line = shell_line(["accelerate", "launch", "--config_file", config, *p.words])
        found.append(
            Way(
                name=f"{base}-accelerate",
                title="accelerate" + accelerate.TITLES[accelerate.name(job)],
                line=line,
                environment=variables,
            )
        )
    if job.devices > 1 and job.shards:
        line = shell_line(
            [
                "accelerate",
                "launch",
                "--use_deepspeed",
                "--deepspeed_config_file",
                deepspeed_file(job, "script"),
                "--num_processes",
                str(job.per_node),
                *p.words,
            ]
        )
        found.append(
            Way(
                name=f"{base}-deepspeed",
                title=f"accelerate, DeepSpeed ZeRO-{job.zero_stage}",
                line=line,
                environment=variables,
            )
        )
    return found


def command_files(jobs: Sequence[tuple[Job, Sequence[str]]], commands: Mapping[str, str]) -> Files:
    """commands.md and commands.sh of the whole study, and one sbatch script per method and target."""
    found: Files = {"commands.md": _page(jobs, commands), "commands.sh": _script(jobs)}
    for job, targets in jobs:
        for target in targets:
            if target in STARTED:
                hours = job.plan.duration.total_seconds.value if job.plan.duration else None
                text = sbatch(
                    f"{job.name}-{target}",
                    [Task(program=program(job, target))],
                    hours=hours / 3600 if hours else None,
                    gpus=not job.on_cpu,
                    site=job.site,
                    notes=unconfirmed(job),
                    preflight=preflight(job),
                )
                found[f"{job.folder('slurm')}/{target}.sbatch"] = text
                if preflight(job):
                    found[preflight(job)[0]] = PREFLIGHT.read_text("utf-8")
    return found


def preflight(job: Job) -> tuple[str, ...]:
    """The program that compares the nodes before a run over several of them, and the file that all must have alike."""
    return (f"{job.folder('slurm')}/preflight.py", job.train) if job.nodes > 1 else ()


def _page(jobs: Sequence[tuple[Job, Sequence[str]]], commands: Mapping[str, str]) -> str:
    out = [
        "# Startup commands",
        "",
        "Every command is started in this folder. `bash commands.sh NAME` does the same, variables included.",
    ]
    for job, targets in jobs:
        compute = job.plan.compute
        out += [
            "",
            f"## {job.name}: {job.plan.model.name} on {compute.said or f'{job.devices} × {compute.gpu.label}'}",
            *_marked(job),
        ]
        out += ["", *quirks(job)] if quirks(job) else []
        for target in targets:
            if target not in STARTED:
                continue
            out += ["", f"### {target}", "", "```sh", *(_export(v) for v in environment(job, target)), "```"]
            for i, way in enumerate(ways(job, target)):
                known = {v.name for v in environment(job, target)}
                extra = [f"{v.name}={_quoted(v.value)}" for v in way.environment if v.name not in known]
                out += [
                    "",
                    f"**{way.title}**{' (as planned)' if i == 0 else ''} · `{way.name}`",
                    "",
                    "```sh",
                    *(["export NODE_RANK=0 MASTER_ADDR=10.0.0.1 MASTER_PORT=29500"] if way.told else []),
                    " ".join([*extra, way.line]),
                    "```",
                ]
                out += [way.remark] if way.remark else []
    for name, command in commands.items():
        out += [
            "",
            f"## {name}: a command of the study",
            "",
            "```sh",
            command,
            "```",
            f"`papertrain launch . --run {name}.DATA.SEED` fills in data, seed and folder.",
        ]
    out += _general(jobs)
    return "\n".join(out) + "\n"


def _marked(job: Job) -> list[str]:
    return [] if job.confirmed else ["", unconfirmed(job, "")[0]]


def _general(jobs: Sequence[tuple[Job, Sequence[str]]]) -> list[str]:
    deepspeed = next((j for j, targets in jobs if "deepspeed" in targets), None)
    out = ["", "## Other launchers and places", ""]
    if deepspeed is not None:
        out += [
            "**DeepSpeed's own launcher** for a training loop of your own; `hostfile` has one line per machine, as `node1 slots=8`:",
            "", "```sh",
            f"deepspeed --hostfile hostfile YOUR_TRAIN.py --deepspeed --deepspeed_config {deepspeed.folder('deepspeed')}/ds_zero{deepspeed.zero_stage}_standalone.json",
            f"deepspeed --num_gpus {deepspeed.per_node} YOUR_TRAIN.py --deepspeed --deepspeed_config {deepspeed.folder('deepspeed')}/ds_zero{deepspeed.zero_stage}_standalone.json",
            "```", "",
        ]  # fmt: skip
    return [
        *out,
        "**Without network**: `HF_HUB_OFFLINE=1 HF_DATASETS_OFFLINE=1`. **Through a mirror**: `HF_ENDPOINT=https://your-mirror`.",
        "Log in once with `hf auth login`; a token never belongs on a command line or in a file.",
        "",
        "**Ascend**: `source /usr/local/Ascend/ascend-toolkit/set_env.sh`, then `ASCEND_RT_VISIBLE_DEVICES=0,1,…` in place of CUDA_VISIBLE_DEVICES,",
        "and `HCCL_CONNECT_TIMEOUT=7200` where one rank tokenises while the others wait. Single node: `HCCL_IF_IP` is not needed.",
        "",
        "**Several networks on a machine**: `NCCL_SOCKET_IFNAME=NAME` (and `GLOO_SOCKET_IFNAME`) names the one between the nodes.",
        "**Port in use**: any free port does, the same on all machines: `MASTER_PORT=29501`.",
    ]


def _quoted(value: str) -> str:
    return value if value.startswith("$") else shell_line([value]) if value else "''"


def _export(v: Variable) -> str:
    line = f"export {v.name}={_quoted(v.value)}"
    return f"{line:<58} # {v.why}" if v.why else line


def _script(jobs: Sequence[tuple[Job, Sequence[str]]]) -> str:
    out = [
        "#!/usr/bin/env bash",
        "# Startup commands of this study; written by papertrain. bash commands.sh lists the names.",
    ]
    out += [line for job, _ in jobs for line in unconfirmed(job)][:1]
    out += ["set -euo pipefail", 'cd "$(dirname "$0")"', 'name="${1:-help}"', "shift || true", "", 'case "$name" in']
    names = []
    for job, targets in jobs:
        for target in targets:
            for way in ways(job, target) if target in STARTED else ():
                names.append(way.name)
                out += [
                    f"  {way.name})  # {way.title}",
                    *(f"    export {v.name}={_quoted(v.value)}" for v in way.environment),
                ]
                if way.told:
                    out.append(
                        '    : "${NODE_RANK:?the number of this machine, from 0}" "${MASTER_ADDR:?address of the first machine}" "${MASTER_PORT:=29500}"'
                    )
                    out.append(f"    export {' '.join(way.told)}")
                out += [f'    exec {way.line} "$@" ;;']
    out += [
        "  *)",
        *(f"    echo '{name}'" for name in names),
        '    if [ "$name" != help ]; then echo "no such command: $name" >&2; exit 2; fi ;;',
        "esac",
    ]
    return "\n".join(out) + "\n"
