"""What each framework calls a setting, what it calls its values, and which files take it: tables for the fixes."""

from __future__ import annotations

from typing import Any

from papertrain.diagnose.case import Case
from papertrain.diagnose.configs import Config
from papertrain.facts.frameworks.load import framework, versions

HF = {
    "micro_batch_size": "per_device_train_batch_size", "eval_batch_size": "per_device_eval_batch_size", "epochs": "num_train_epochs",
    "optimizer": "optim", "attention": "attn_implementation", "sequence_length": "max_length", "model": "model_name_or_path", "global_batch_size": "",
    "zero_stage": "", "gather_16bit": "", "offload_optimizer": "", "offload_param": "", "reduce_bucket_size": "", "stage3_prefetch_bucket_size": "",
    "stage3_param_persistence_threshold": "", "train_batch_size": "", "train_micro_batch_size_per_gpu": "", "ds_gradient_accumulation_steps": "",
    "ds_optimizer_lr": "", "gradient_clipping": "", "overlap_comm": "", "torch_adam": "", "communication_data_type": "", "grad_accum_dtype": "",
    "gpus": "", "master_port": "", "RANK": "", "method": "", "lora_targets": "", "use_reentrant": "", "adapter": "", "lora_rank": "", "temperature": "temperature",
    "enable_liger_kernel": "use_liger_kernel",
}  # fmt: skip
LLAMAFACTORY = HF | {
    "attention": "flash_attn", "sequence_length": "cutoff_len", "method": "finetuning_type", "lora_targets": "lora_target", "use_reentrant": "use_reentrant_gc",
    "adapter": "adapter_name_or_path", "lora_rank": "lora_rank", "beta": "pref_beta", "torch_dtype": "", "use_cache": "", "enable_liger_kernel": "enable_liger_kernel",
}  # fmt: skip
AXOLOTL = HF | {
    "micro_batch_size": "micro_batch_size",
    "sequence_length": "sequence_len",
    "epochs": "num_epochs",
    "optimizer": "optimizer",
    "lora_rank": "lora_r",
    "enable_liger_kernel": "",
}
DEEPSPEED = {
    "zero_stage": "zero_optimization.stage", "overlap_comm": "zero_optimization.overlap_comm", "reduce_bucket_size": "zero_optimization.reduce_bucket_size",
    "stage3_prefetch_bucket_size": "zero_optimization.stage3_prefetch_bucket_size", "stage3_param_persistence_threshold": "zero_optimization.stage3_param_persistence_threshold",
    "gather_16bit": "zero_optimization.stage3_gather_16bit_weights_on_model_save", "offload_optimizer": "zero_optimization.offload_optimizer.device",
    "offload_param": "zero_optimization.offload_param.device", "bf16": "bf16.enabled", "fp16": "fp16.enabled", "torch_adam": "optimizer.params.torch_adam",
    "train_batch_size": "train_batch_size", "train_micro_batch_size_per_gpu": "train_micro_batch_size_per_gpu", "ds_gradient_accumulation_steps": "gradient_accumulation_steps",
    "ds_optimizer_lr": "optimizer.params.lr", "gradient_clipping": "gradient_clipping", "communication_data_type": "communication_data_type",
    "grad_accum_dtype": "data_types.grad_accum_dtype", "micro_batch_size": "train_micro_batch_size_per_gpu", "gradient_accumulation_steps": "gradient_accumulation_steps",
    "learning_rate": "optimizer.params.lr", "max_grad_norm": "gradient_clipping",
}  # fmt: skip
ONLY_WHERE_WRITTEN = frozenset({"ds_optimizer_lr", "ds_gradient_accumulation_steps", "train_batch_size", "train_micro_batch_size_per_gpu", "gradient_clipping", "tf32",
                                "device_map", "low_cpu_mem_usage", "prediction_loss_only", "fp16_full_eval", "stage3_prefetch_bucket_size", "torch_adam", "offload_param",
                                "reduce_bucket_size", "stage3_param_persistence_threshold", "preprocessing_num_workers", "use_unsloth_gc", "use_cache"})  # fmt: skip
SPEAKS = {
    ("llamafactory", "attention"): {"sdpa": "sdpa", "eager": "disabled"}, ("llamafactory", "lora_targets"): {"all-linear": "all"},
    ("llamafactory", "optimizer"): {"adamw_8bit": "adamw_8bit"}, ("hf", "optimizer"): {"adamw_8bit": "adamw_bnb_8bit"},
}  # fmt: skip
ON_BY_DEFAULT = frozenset({"remove_unused_columns"})
"""What is on where it is not written: to turn it off it must be written."""
DEFAULTS = {"gradient_accumulation_steps": 1, "micro_batch_size": 8, "epochs": 3.0, "learning_rate": 5e-5}
PLAN = frozenset(["micro_batch_size", "gradient_accumulation_steps", "learning_rate", "epochs", "optimizer", "attention", "sequence_length", "method", "lora_targets", "lora_rank", "zero_stage", "gradient_checkpointing", "precision", "offload", "warmup_steps", "max_grad_norm", "template", "beta", "lora_dropout", "early_stopping_patience", "eval_steps"])  # fmt: skip
LAUNCHER = frozenset({"gpus", "master_port"})


def keys_of(config: Config) -> dict[str, str]:
    if config.kind == "deepspeed":
        return DEEPSPEED
    if config.kind == "llamafactory":
        return LLAMAFACTORY
    if isinstance(config.value, dict) and {"sequence_len", "micro_batch_size", "base_model"} & set(config.value):
        return AXOLOTL
    return HF


def addable(config: Config, key: str, case: Case) -> bool:
    """Whether the Trainer of this run takes the key: one that its release (the newest where that is not known)
    refuses is not added."""
    if config.kind not in ("hf", "python", "shell"):
        return True
    if config.kind != "shell" and not any(key in framework(n).known() for n in ("transformers", "trl")):
        return not _of_others(key)
    known = case.facts.get("version:transformers")
    took = [v for v in versions("transformers") if key in framework("transformers", v).known()]
    return not took or key in framework("transformers", None if known is None else str(known)).known()


def _of_others(key: str) -> bool:
    """Whether it is a word of another framework: the Trainer's arguments would refuse it."""
    return any(key in framework(n).known() for n in ("llamafactory", "axolotl", "deepspeed"))


def spelled(config: Config, knob: str, value: Any) -> Any:
    table = SPEAKS.get((config.kind if config.kind == "llamafactory" else "hf", knob), {})
    return table.get(value, value) if isinstance(value, str) else value
