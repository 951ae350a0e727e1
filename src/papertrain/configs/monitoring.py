"""monitoring.md: what normal looks like for this run, with its own numbers, and the command that shows each signal."""

from __future__ import annotations

import math
from collections.abc import Sequence

from papertrain.configs.lines import unconfirmed
from papertrain.configs.target import Job
from papertrain.core.counts import agreed
from papertrain.core.units import show_bytes, show_number, show_seconds
from papertrain.core.values import Estimate

TABLE = """\
| signal | normal | warning | critical |
| --- | --- | --- | --- |
| training loss | steadily decreasing | plateau for more than 2 epochs | increasing, or NaN |
| validation loss | decreasing, converging | plateau, slight increase | diverging from the training loss |
| learning rate | warm-up, then decay | spiking | NaN |
| GPU utilisation | > 80 % | 50-80 % | < 50 % |
| gradient norm | stable | spiking | NaN or 0 |"""


def guide(jobs: Sequence[Job]) -> str:
    out = [
        "# Monitoring guide",
        "",
        "`papertrain watch .` reads all of this and says normal, warning or critical for each signal.",
        "",
        TABLE.replace("GPU", "processor") if jobs and all(job.on_cpu for job in jobs) else TABLE,
    ]
    for job in jobs:
        out += [
            "",
            f"## {job.name}: the numbers of this run",
            *(["", unconfirmed(job, "")[0]] if not job.confirmed else []),
            "",
            *_numbers(job),
        ]
    return "\n".join([*out, *_commands(jobs)]) + "\n"


def _range(e: Estimate | None, show: object) -> str:
    if e is None or e.value is None:
        return "unknown: launch --smoke measures it"
    assert callable(show)
    return (
        f"{show(e.value)} ({show(e.low)} to {show(e.high)})"
        if e.low is not None and e.high is not None
        else str(show(e.value))
    )


def _numbers(job: Job) -> list[str]:
    plan, memory, time = job.plan, job.plan.memory, job.plan.duration
    total, warm = job.total_steps, job.warmup_steps
    per_epoch = f"{math.ceil(total / float(job.epochs)):,}" if total and job.epochs else "unknown"
    rows = [
        (
            "steps",
            f"{show_number(total)} in {job.epochs:g} epochs, {per_epoch} per epoch",
            "more or fewer in the first log line: batch, devices or data differ from the plan",
        ),
        (
            "global batch",
            f"{job.global_batch_size} = {job.micro_batch_size} × {job.gradient_accumulation_steps} × {job.devices}",
            "it changes with the number of devices",
        ),
        (
            "learning rate",
            f"0 at the start, {show_number(job.learning_rate)} after {show_number(warm)} steps, then {job.lr_scheduler}",
            "another peak or another end of warm-up: the schedule is not the planned one",
        ),
        (
            "first loss",
            _first_loss(job),
            "far above: labels, template or vocabulary are wrong; near 0: the answers are masked or leaked",
        ),
        (
            "gradient norm",
            f"clipped at {show_number(job.max_grad_norm)}; the log shows it before clipping",
            "a norm of 0 means that nothing is trained",
        ),
        (
            "validation",
            f"every {show_number(job.eval_steps)} steps" if job.eval_steps else "at the end of every epoch",
            f"stops after {job.early_stopping_patience} validations without gain"
            if job.early_stopping_patience
            else "no early stopping",
        ),
        (
            "checkpoint",
            f"every {show_number(job.save_steps)} steps" if job.save_steps else "at the end of every epoch",
            "none for twice as long: look at the disk",
        ),
        (
            "step time",
            _range(time.step_seconds if time else None, show_seconds),
            "twice as long: another job on the device, or slow data",
        ),
        ("whole run", _range(time.total_seconds if time else None, show_seconds), ""),
        (
            "memory per device",
            _range(memory.device_bytes if memory else None, show_bytes)
            + (f" of {show_bytes(memory.capacity_bytes)}" if memory and memory.capacity_bytes else ""),
            "growing from step to step: something keeps its tensors",
        ),
        (
            "precision",
            str(job.precision),
            "fp16: the first skipped steps are normal, the loss scale is finding its level"
            if job.precision == "fp16"
            else "",
        ),
    ]
    if plan.dataset is not None and plan.dataset.tokens:
        rows.insert(
            2,
            (
                "data",
                f"{plan.dataset.examples:,} examples, {'' if plan.dataset.exact else '≈ '}{plan.dataset.tokens:,} tokens",
                f"{plan.dataset.truncated_examples:,} examples are cut at {job.sequence_length}",
            ),
        )
    return [
        "| what | expected | if not |",
        "| --- | --- | --- |",
        *(f"| {a} | {agreed(b)} | {agreed(c)} |" for a, b, c in rows),
    ]


def _first_loss(job: Job) -> str:
    if job.classifies:
        classes = len(job.plan.dataset.labels) if job.plan.dataset is not None else 0
        return f"about {math.log(classes):.2f} = ln {classes}" if classes > 1 else "about ln(number of classes)"
    if job.task in ("sft", "pt"):
        return f"far below {math.log(job.plan.model.vocab):.1f} = ln {job.plan.model.vocab:,} for a pretrained model"
    return "0.69 = ln 2" if job.task == "dpo" else "depends on the task"


def _commands(jobs: Sequence[Job]) -> list[str]:
    run = jobs[0].run if jobs else "runs/RUN"
    on_cpu = bool(jobs) and jobs[0].on_cpu
    usage = "top -p $(pgrep -d, -f train)" if on_cpu else "nvidia-smi dmon -s pucm -d 5"
    if jobs and jobs[0].plan.compute.gpu.vendor == "huawei":
        usage = "npu-smi info watch"
    return [
        "", "## The command that shows each signal", "", "| signal | command |", "| --- | --- |",
        f"| all of them, with levels | `papertrain watch {run}` |",
        f"| training loss, learning rate, gradient norm, step time | `tail -f {run}/train_log.jsonl` (script), `tail -f {run}/trainer_log.jsonl` (LLaMA-Factory) |",
        f"| validation loss | `grep eval_loss {run}/train*_log.jsonl` |",
        f"| {'processor utilisation and memory' if on_cpu else 'GPU utilisation, memory, power'} | `{usage}` |",
        f"| output of the program | `tail -f {run}/stdout.log` |",
        f"| why it failed | `papertrain diagnose {run}` |",
        *([] if on_cpu else ["", "Utilisation counts kernels, not work: 100 % with low power and no new step is a collective that waits for a lost rank."]),
    ]  # fmt: skip
