"""Which settings weigh on what is trained, and which only on how the run is carried out."""

from __future__ import annotations

import re

from papertrain.core.errors import nearest

# Where and how often something is written, shown or looked at; where the work is done, and by how many helpers. All else
# is taken to weigh on the experiment.
_EXECUTION = re.compile(
    r"logging|log_(level|on|unique|completions)|report_to|save|output_dir|hub_|push_to|wandb|tensorboard|mlflow|comet|swanlab|trackio|run_name|disable_tqdm|plot_|"
    r"num_proc|workers|dataloader_(?!drop)|pin_|prefetch|cache|overwrite|"
    r"eval_(strategy|steps|accumulation|delay|on_start)|evals_per|evaluation_strategy|do_eval|per_device_eval|eval_batch|"
    r"gradient_checkpointing|activation_offload|offload|bucket|overlap_comm|contiguous|stage3_|sub_group|round_robin|nvme|"
    r"zero_stage$|zero_optimization|deepspeed|fsdp|sharding|ddp_|local_rank|timeout|_port$|torch_compile|compile_|low_cpu|use_cpu|no_cuda|"
    r"use_mps|use_ipex|safetensors|wall_clock|steps_per_print|profil|dump_state|half_precision_backend|backend$|fp16_opt_level|fp16_backend|tokens_per_second|"
    r"skip_memory|debug|jit_mode|include_inputs|trust_remote_code|print_param|liger|ray_|past_index|split_batches|dispatch_batches|generate_during_eval|wall_"
)  # fmt: skip


def weighs(key: str) -> bool:
    """Whether another value of the setting may train another model. A name that is not known to be harmless does."""
    return _EXECUTION.search(key.lower()) is None


def slip(written: str, meant: str) -> bool:
    """Whether two names differ by no more than a letter or two, a dash or the case: nothing else can have been meant."""
    low = written.lower().replace("-", "_")
    return low == meant or nearest(low, [meant], cutoff=0.88) is not None
