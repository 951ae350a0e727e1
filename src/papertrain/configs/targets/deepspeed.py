"""DeepSpeed JSON: once for the Trainer ("auto" exactly where it fills in) and once complete, for a loop of one's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from papertrain.configs.lines import Line, cannot, json_text, no_comment_page
from papertrain.configs.target import Files, Job, Target

VERSION = "0.19.8"
HERE = "deepspeed"
TYPES = {
    "adamw": "AdamW",
    "adamw_fused": "AdamW",
    "cpu_adamw": "AdamW",
    "lion": "Lion",
    "adagrad": "Adagrad",
    "lamb": "Lamb",
}


def applies(job: Job) -> str | None:
    if job.on_cpu and job.devices == 1:
        return "one processor: there is nothing to shard"
    return None


def stage(job: Job) -> int:
    return int(job.zero_stage or 0)


def offloads(job: Job) -> bool:
    return bool(stage(job)) and (job.offload or "none") != "none"


def zero(job: Job, *, auto: bool) -> dict[str, Any]:
    """The zero_optimization section. Bucket sizes are numbers of elements and must be whole: DeepSpeed refuses 3686.4."""
    hidden = job.plan.model.hidden
    found: dict[str, Any] = {"stage": stage(job)}
    if stage(job) in (1, 2):
        found |= {
            "contiguous_gradients": True,
            "reduce_scatter": True,
            # Versions up to 0.16.4 corrupted gradients with stage 2 and overlap_comm on some cards.
            "overlap_comm": False,
            "allgather_bucket_size": 500_000_000,
            "reduce_bucket_size": 500_000_000,
        }
    if stage(job) == 3:
        found |= {
            "contiguous_gradients": True,
            "overlap_comm": True,
            "sub_group_size": 1_000_000_000,
            "reduce_bucket_size": "auto" if auto else hidden * hidden,
            "stage3_prefetch_bucket_size": "auto" if auto else hidden * hidden * 9 // 10,
            "stage3_param_persistence_threshold": "auto" if auto else hidden * 10,
            "stage3_max_live_parameters": 1_000_000_000,
            "stage3_max_reuse_distance": 1_000_000_000,
            "stage3_gather_16bit_weights_on_model_save": True,
        }
    kind = job.offload or "none"
    if offloads(job) and kind in ("optimizer", "params+optimizer"):
        found["offload_optimizer"] = {"device": "cpu", "pin_memory": True}
    if stage(job) == 3 and kind in ("params", "params+optimizer"):
        found["offload_param"] = {"device": "cpu", "pin_memory": True}
    return found


def for_trainer(job: Job) -> dict[str, Any]:
    return {
        "train_batch_size": "auto",
        "train_micro_batch_size_per_gpu": "auto",
        "gradient_accumulation_steps": "auto",
        "gradient_clipping": "auto",
        "zero_allow_untested_optimizer": True,
        "bf16": {"enabled": "auto"},
        "fp16": {
            "enabled": "auto",
            "loss_scale": 0,
            "initial_scale_power": 16,
            "loss_scale_window": 1000,
            "hysteresis": 2,
            "min_loss_scale": 1,
        },
        "zero_optimization": zero(job, auto=True),
    }


def trainer_file(job: Job) -> Files:
    """The file that a config of the Trainer's family names; nothing where it names none."""
    if not stage(job) and (job.offload or "none") == "none":
        return {}
    return {f"{job.folder(HERE)}/ds_zero{stage(job)}.json": json_text(for_trainer(job))}


def complete(job: Job, accumulation: int | None = None) -> dict[str, Any]:
    """Every number as the plan has it; train_batch_size = micro × accumulation × devices, which DeepSpeed checks."""
    steps = accumulation or int(job.gradient_accumulation_steps)
    found: dict[str, Any] = {
        "train_batch_size": int(job.micro_batch_size) * steps * job.devices,
        "train_micro_batch_size_per_gpu": int(job.micro_batch_size),
        "gradient_accumulation_steps": steps,
        "gradient_clipping": float(job.max_grad_norm),
        "zero_allow_untested_optimizer": True,
    }
    if job.precision in ("bf16", "pure_bf16"):
        found["bf16"] = {"enabled": True}
    elif job.precision == "fp16":
        found["fp16"] = {
            "enabled": True,
            "loss_scale": 0,
            "initial_scale_power": 16,
            "loss_scale_window": 1000,
            "hysteresis": 2,
            "min_loss_scale": 1,
        }
    return found | {"zero_optimization": zero(job, auto=False)}


def for_script(job: Job) -> dict[str, Any]:
    """The custom script accumulates by itself, normalised by tokens: for DeepSpeed every one of its steps is complete.

    Without the product: it then holds on any number of devices, as the script's global batch does.
    """
    return {key: value for key, value in complete(job, accumulation=1).items() if key != "train_batch_size"}


def stand_alone(job: Job) -> dict[str, Any]:
    found = complete(job)
    if str(job.optimizer) in TYPES:
        params: dict[str, Any] = {
            "lr": float(job.learning_rate),
            "betas": [0.9, 0.999],
            "eps": 1e-8,
            "weight_decay": float(job.weight_decay),
        }
        found["optimizer"] = {"type": TYPES[str(job.optimizer)], "params": params}
    if _warms_up(job):
        found["scheduler"] = scheduler(job)
    return found


def scheduler(job: Job) -> dict[str, Any]:
    """DeepSpeed counts warm-up in optimizer steps, and its cosine takes ratios of the optimizer's own rate."""
    total, warm = int(job.total_steps), int(job.warmup_steps or 0)
    if job.lr_scheduler == "linear":
        return {"type": "WarmupDecayLR", "params": {"warmup_min_lr": 0.0, "warmup_max_lr": float(job.learning_rate), "warmup_num_steps": warm,
                                                    "warmup_type": "linear", "total_num_steps": total}}  # fmt: skip
    if job.lr_scheduler == "cosine":
        return {"type": "WarmupCosineLR", "params": {"warmup_min_ratio": 0.0, "cos_min_ratio": 0.0, "warmup_num_steps": warm,
                                                     "warmup_type": "linear", "total_num_steps": total}}  # fmt: skip
    return {
        "type": "WarmupLR",
        "params": {
            "warmup_min_lr": 0.0,
            "warmup_max_lr": float(job.learning_rate),
            "warmup_num_steps": warm,
            "warmup_type": "linear",
        },
    }


def _warms_up(job: Job) -> bool:
    return (
        str(job.optimizer) in TYPES
        and job.total_steps is not None
        and job.lr_scheduler in ("linear", "cosine", "constant_with_warmup")
    )


def files(job: Job) -> Files:
    here, n = job.folder(HERE), stage(job)
    why = [
        Line("zero_optimization.stage", n, decision="zero_stage"),
        *(
            [Line("zero_optimization.offload_optimizer", {"device": "cpu"}, decision="offload")]
            if "offload_optimizer" in zero(job, auto=True)
            else []
        ),
        Line("train_micro_batch_size_per_gpu", job.micro_batch_size, decision="micro_batch_size"),
        Line("gradient_accumulation_steps", job.gradient_accumulation_steps, decision="gradient_accumulation_steps"),
        Line("train_batch_size", job.global_batch_size, decision="global_batch_size"),
        Line("gradient_clipping", job.max_grad_norm, decision="max_grad_norm"),
        Line("bf16 / fp16", job.precision, decision="precision"),
    ]
    if n in (1, 2):
        why.append(
            Line(
                "overlap_comm",
                False,
                "DeepSpeed up to 0.16.4 corrupted gradients with it in stage 2 (loss turns NaN after some steps)",
            )
        )
    own = [
        *why,
        Line("optimizer", job.optimizer, decision="optimizer"),
        Line("optimizer.params.lr", job.learning_rate, decision="learning_rate"),
        Line("optimizer.params.weight_decay", job.weight_decay, decision="weight_decay"),
        Line("scheduler", job.lr_scheduler, decision="lr_scheduler"),
        Line("scheduler.params.warmup_num_steps", job.warmup_steps, decision="warmup_steps"),
        Line("scheduler.params.total_num_steps", job.total_steps, decision="total_steps"),
    ]
    pages = {
        f"ds_zero{n}.json (for the Trainer: what is `auto` is filled from its own arguments)": why[
            : 2 if "offload_optimizer" in zero(job, auto=True) else 1
        ],
        f"ds_zero{n}_standalone.json": own,
    }
    notes = cannot(dict(cannot_say(job)))
    return {
        f"{here}/ds_zero{n}.json": json_text(for_trainer(job)),
        f"{here}/ds_zero{n}_standalone.json": json_text(stand_alone(job)),
        f"{here}/README.md": no_comment_page(job, f"DeepSpeed {VERSION}, ZeRO-{n}", pages, notes),
    }


def says(job: Job) -> Mapping[str, str]:
    found = {
        "micro_batch_size": "train_micro_batch_size_per_gpu", "gradient_accumulation_steps": "gradient_accumulation_steps",
        "global_batch_size": "train_batch_size", "learning_rate": "lr", "lr_scheduler": "scheduler", "total_steps": "total_num_steps",
        "warmup_steps": "warmup_num_steps", "weight_decay": "weight_decay", "optimizer": "optimizer", "precision": "bf16",
        "zero_stage": "stage", "offload": "offload_optimizer", "max_grad_norm": "gradient_clipping",
    }  # fmt: skip
    return {name: key for name, key in found.items() if name not in cannot_say(job)}


def cannot_say(job: Job) -> Mapping[str, str]:
    ours = "the training code decides it, not DeepSpeed"
    names = ("method", "epochs", "gradient_checkpointing", "attention", "packing", "sequence_length", "seed", "eval_steps", "save_steps",
             "early_stopping_patience", "template", "lora_rank", "lora_alpha", "lora_dropout", "lora_targets", "beta")  # fmt: skip
    found = {name: ours for name in names if job.plan.decision(name) is not None}
    if str(job.optimizer) not in TYPES:
        found["optimizer"] = f"DeepSpeed has no {job.optimizer}: build it in the training code"
        found |= dict.fromkeys(
            ("learning_rate", "weight_decay"), "belongs to the optimizer, which the training code builds"
        )
    if not _warms_up(job):
        found |= dict.fromkeys(
            ("lr_scheduler", "total_steps", "warmup_steps"),
            f"no schedule {job.lr_scheduler} of a known length in DeepSpeed: step one of your own",
        )
    elif job.lr_scheduler == "constant_with_warmup":
        found["total_steps"] = "a constant schedule has no end"
    if not offloads(job):
        found["offload"] = "none: no offload section is written"
    if job.precision == "fp32":
        found["precision"] = "fp32 is the absence of bf16 and fp16"
    return found


TARGET = Target(
    id=HERE, title="DeepSpeed", version=VERSION, files=files, says=says, cannot_say=cannot_say, applies=applies
)
