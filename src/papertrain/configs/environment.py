"""The environment block of a run: every variable with its reason, card quirks included. Never a token."""

from __future__ import annotations

from papertrain.configs.target import Job
from papertrain.core.program import Variable


def environment(job: Job, target: str) -> list[Variable]:
    """What is set on every node before the run starts."""
    found = [
        Variable("TOKENIZERS_PARALLELISM", "false", "forked data loaders and tokenizer threads dead-lock each other")
    ]
    found += job.site.variables(job.nodes)
    if "/" in job.model and (job.model.startswith((".", "/")) or job.plan.model.local_path):
        found.append(
            Variable("HF_HUB_OFFLINE", "1", "model and data are local: no look-up on a hub can stall the start")
        )
    if job.on_cpu:
        found.append(Variable("CUDA_VISIBLE_DEVICES", "", "the plan is for the processor"))
        if target == "deepspeed":
            found.append(Variable("DS_ACCELERATOR", "cpu", "DeepSpeed looks for a card otherwise"))
        return found
    gpu = job.plan.compute.gpu
    if gpu.vendor == "huawei":
        devices = ",".join(map(str, range(job.per_node)))
        return [*found, Variable("ASCEND_RT_VISIBLE_DEVICES", devices, "the devices of this run"),
                Variable("HCCL_CONNECT_TIMEOUT", "7200", "seconds; ranks wait while one tokenises")]  # fmt: skip
    if gpu.vendor == "amd":
        found.append(
            Variable("HIP_VISIBLE_DEVICES", ",".join(map(str, range(job.per_node))), "the devices of this run")
        )
    else:
        found.append(
            Variable("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True", "less fragmentation when lengths vary")
        )
    if job.devices > 1 and gpu.vendor == "nvidia":
        found.append(Variable("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1", "a dead rank ends the run instead of hanging it"))
        if not gpu.peer_to_peer:
            found += [Variable("NCCL_P2P_DISABLE", "1", f"the {gpu.label} has no peer-to-peer between cards"),
                      Variable("NCCL_IB_DISABLE", "1", "accelerate refuses to start on these cards without it")]  # fmt: skip
    return found


def quirks(job: Job) -> list[str]:
    """What a reader must know about the cards of this plan."""
    gpu = job.plan.compute.gpu
    found = []
    if gpu.vendor == "nvidia" and not gpu.has_bf16:
        found.append(f"The {gpu.label} has no bf16: fp16 with loss scaling, or fp32.")
    if gpu.vendor == "nvidia" and not gpu.peer_to_peer and job.devices > 1:
        found.append(
            f"The {gpu.label} has no P2P: traffic goes through the host, so sharding (ZeRO-3, FSDP) costs more than usual."
        )
    if gpu.vendor == "nvidia" and job.attention == "flash" and (gpu.compute_capability or "9") < "8":
        found.append(f"FlashAttention 2 does not run on the {gpu.label} (compute capability {gpu.compute_capability}).")
    return found
