"""The plan's words in the words of transformers' Trainer, which LLaMA-Factory, TRL and Axolotl share."""

from __future__ import annotations

from collections.abc import Mapping

from papertrain.configs.lines import Line
from papertrain.configs.target import Job

OPTIMIZERS = {
    "adamw": "adamw_torch",
    "adamw_fused": "adamw_torch_fused",
    "adamw_8bit": "adamw_bnb_8bit",
    "paged_adamw": "paged_adamw_32bit",
    "paged_adamw_8bit": "paged_adamw_8bit",
    "cpu_adamw": "adamw_torch",
    "lion": "lion_32bit",
}
SCHEDULERS = {"wsd": "warmup_stable_decay", "cosine_min": "cosine_with_min_lr"}
ATTENTION = {"eager": "eager", "sdpa": "sdpa", "flash": "flash_attention_2"}


def optimizer(job: Job) -> str:
    name = str(job.optimizer)
    return OPTIMIZERS.get(name, name)


def scheduler(job: Job) -> str:
    name = str(job.lr_scheduler)
    return SCHEDULERS.get(name, name)


def precision_lines(job: Job, pure: bool = True) -> list[Line]:
    """bf16 and fp16 are two switches; both off is fp32. pure: whether pure_bf16 needs the bf16 switch too."""
    kind = job.precision
    why = job.why("precision")
    lines = [Line("bf16", kind == "bf16" or (pure and kind == "pure_bf16"), why)]
    if kind == "fp16":
        lines.append(Line("fp16", True, why))
    if job.on_cpu:
        lines.append(Line("use_cpu", True, "the plan is for this machine's processor"))
    return lines


def schedule_lines(job: Job) -> list[Line]:
    lines = [Line("lr_scheduler_type", scheduler(job), decision="lr_scheduler")]
    lines += schedule_arguments(job)
    if job.warmup_steps is not None:
        lines.append(Line("warmup_steps", job.warmup_steps, decision="warmup_steps"))
    return lines


def schedule_arguments(job: Job) -> list[Line]:
    """What transformers asks of a schedule beside its name; without it the run stops when the schedule is built."""
    if scheduler(job) == "cosine_with_min_lr":
        return [Line("lr_scheduler_kwargs", {"min_lr_rate": 0.1}, "without a floor this schedule refuses to start")]
    if scheduler(job) == "warmup_stable_decay" and job.total_steps:
        steps = max(1, job.total_steps // 10)
        return [Line("lr_scheduler_kwargs", {"num_decay_steps": steps}, f"the last tenth of {job.total_steps:,} steps")]
    return []


def evaluation(job: Job) -> tuple[int | None, int | None]:
    """(eval steps, save steps), the latter a multiple of the former, as the best checkpoint can only be loaded if it was saved."""
    every, save = job.eval_steps, job.save_steps
    if every and save and save % every:
        save = max(1, round(save / every)) * every
    return every, save or every


DERIVED = {
    "global_batch_size": "no key: it is micro batch × accumulation × devices",
    "total_steps": "no key: it follows from the epochs and the examples; compare it with the first log line",
}

SHARED_KEYS = {
    "gradient_accumulation_steps": "gradient_accumulation_steps", "learning_rate": "learning_rate", "warmup_steps": "warmup_steps", "weight_decay": "weight_decay",
    "gradient_checkpointing": "gradient_checkpointing", "zero_stage": "deepspeed", "offload": "deepspeed", "max_grad_norm": "max_grad_norm", "seed": "seed",
    "eval_steps": "eval_steps", "save_steps": "save_steps", "precision": "bf16", "lora_alpha": "lora_alpha", "lora_dropout": "lora_dropout",
}  # fmt: skip
"""Decisions whose key has one name in LLaMA-Factory, TRL and Axolotl."""
TRAINER_KEYS = SHARED_KEYS | {
    "micro_batch_size": "per_device_train_batch_size",
    "lr_scheduler": "lr_scheduler_type",
    "epochs": "num_train_epochs",
    "optimizer": "optim",
}
"""And those of TrainingArguments, which LLaMA-Factory and TRL hand on."""


def without_key(job: Job) -> dict[str, str]:
    """What no file of this family can say of the plan: decision → why."""
    found = dict(DERIVED)
    if not job.zero_stage and (job.offload or "none") == "none":
        found |= {
            "zero_stage": "0 is the absence of a deepspeed file: plain data parallelism",
            "offload": "none: no deepspeed file is named",
        }
    if job.gradient_checkpointing == "selective":
        found["gradient_checkpointing"] = (
            "selective recomputation has no key: every layer is recomputed, slower and smaller than planned"
        )
    for name in ("eval_steps", "save_steps", "warmup_steps"):
        if getattr(job, name) is None and not (name == "save_steps" and job.eval_steps):
            found[name] = "the plan could not say it, so the framework's own default holds"
    return found


def decided(job: Job, unsaid: Mapping[str, str]) -> dict[str, str]:
    """Only what the plan has a decision for."""
    return {name: why for name, why in unsaid.items() if job.plan.decision(name) is not None}


def sayable(keys: Mapping[str, str], unsaid: Mapping[str, str]) -> dict[str, str]:
    return {name: key for name, key in keys.items() if name not in unsaid}
