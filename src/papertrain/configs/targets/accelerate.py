"""accelerate: the YAML of `accelerate launch` for data parallelism (DDP) or sharding (FSDP2) of the custom script."""

from __future__ import annotations

from collections.abc import Mapping

from papertrain.configs.lines import Line, cannot, yaml_text
from papertrain.configs.programs import deepspeed_file
from papertrain.configs.target import Files, Job, Target

VERSION = "1.15.0"
HERE = "accelerate"


def applies(job: Job) -> str | None:
    return None if job.devices > 1 else "one device: python starts the script directly"


TITLES = {"ddp.yaml": "", "fsdp2.yaml": " (FSDP2)", "deepspeed.yaml": " (DeepSpeed)"}


def name(job: Job) -> str:
    """FSDP2 shards all, or all with everything on the host; what lies between is DeepSpeed's."""
    if not job.zero_stage or (job.on_cpu and job.zero_stage != 3):
        return "ddp.yaml"
    return (
        "fsdp2.yaml"
        if job.zero_stage == 3 and (job.offload or "none") in ("none", "params+optimizer")
        else "deepspeed.yaml"
    )


def files(job: Job) -> Files:
    kind = name(job)
    mixed = {"bf16": "bf16", "fp16": "fp16"}.get(str(job.precision), "no")
    lines = [
        Line("compute_environment", "LOCAL_MACHINE"),
        Line(
            "distributed_type",
            {"fsdp2.yaml": "FSDP", "deepspeed.yaml": "DEEPSPEED"}.get(kind, "MULTI_CPU" if job.on_cpu else "MULTI_GPU"),
            decision="zero_stage",
        ),
        # Where DeepSpeed's file says the precision, accelerate refuses to be told it a second time.
        *([] if kind == "deepspeed.yaml" else [Line("mixed_precision", mixed, decision="precision")]),
        Line("num_machines", job.nodes),
        Line("num_processes", job.devices, f"{job.per_node} devices on each of {job.nodes} machines"),
        Line("machine_rank", 0, "the number of this machine, from 0: set it on each, or let the command do it"),
        Line("rdzv_backend", "c10d" if job.nodes > 1 else "static"),
        Line("use_cpu", job.on_cpu),
    ]
    if kind == "fsdp2.yaml":
        lines.append(Line("fsdp_config", _fsdp(job), "FSDP2 shards weights, gradients and optimizer, as ZeRO-3 does"))
    if kind == "deepspeed.yaml":
        lines.append(Line("deepspeed_config", {"deepspeed_config_file": deepspeed_file(job, "script"), "zero3_init_flag": job.zero_stage == 3}, f"ZeRO-{job.zero_stage} and its offload, which FSDP2 has not"))  # fmt: skip
    file = f"{job.folder(HERE)}/{name(job)}"
    title = f"accelerate {VERSION}: accelerate launch --config_file {file} {job.folder('script')}/train.py"
    return {file: yaml_text(job, title, [("", lines)], cannot(dict(cannot_say(job))))}


def _fsdp(job: Job) -> dict[str, object]:
    return {
        "fsdp_version": 2,
        "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
        "fsdp_reshard_after_forward": True,
        "fsdp_offload_params": "params" in str(job.offload or ""),
        "fsdp_state_dict_type": "FULL_STATE_DICT",
        "fsdp_cpu_ram_efficient_loading": True,
        "fsdp_activation_checkpointing": False,
    }


def says(job: Job) -> Mapping[str, str]:
    kind = name(job)
    if kind == "deepspeed.yaml":
        return dict.fromkeys(("zero_stage", "offload", "precision"), "deepspeed_config_file")
    return (
        {"zero_stage": "distributed_type"}
        | ({"offload": "fsdp_offload_params"} if kind == "fsdp2.yaml" else {})
        | ({"precision": "mixed_precision"})
    )


def cannot_say(job: Job) -> Mapping[str, str]:
    said = says(job)
    found = {d.name: "train.py has it as an argument" for d in job.plan.decisions() if d.name not in said}
    if name(job) == "ddp.yaml":
        found["offload"] = "plain data parallelism keeps everything on the card"
    return found


TARGET = Target(
    id=HERE, title="accelerate", version=VERSION, files=files, says=says, cannot_say=cannot_say, applies=applies
)
