"""Which framework a mapping belongs to, by the keys it holds."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from papertrain.core.errors import nearest
from papertrain.facts.frameworks.load import framework, versions

# Keys that one framework has and no other would be given by accident.
SIGNS: dict[str, frozenset[str]] = {
    "deepspeed": frozenset({"zero_optimization", "train_micro_batch_size_per_gpu", "train_batch_size", "zero_allow_untested_optimizer", "steps_per_print", "wall_clock_breakdown", "flops_profiler", "zero_force_ds_cpu_optimizer"}),
    "llamafactory": frozenset({"stage", "finetuning_type", "template", "dataset_dir", "cutoff_len", "infer_backend", "export_dir", "lora_target", "max_samples", "quantization_bit", "pref_loss", "pref_beta", "val_size", "overwrite_cache", "preprocessing_num_workers", "plot_loss", "neat_packing", "enable_thinking", "task_dir", "train_dataset", "peft_config", "kernel_config", "dist_config", "batching_strategy"}),
    "axolotl": frozenset({"base_model", "micro_batch_size", "sequence_len", "val_set_size", "sample_packing", "datasets", "dataset_prepared_path", "adapter", "num_epochs", "pad_to_sequence_len", "lora_target_linear", "rl", "chat_template", "evals_per_epoch", "saves_per_epoch", "pretraining_dataset", "flash_attention", "special_tokens", "lr_scheduler", "optimizer", "train_on_inputs"}),
    "trl": frozenset({"dataset_name", "dataset_train_split", "dataset_test_split", "use_peft", "lora_r", "lora_target_modules", "max_length", "num_generations", "max_completion_length", "beta", "loss_type", "reward_funcs", "dataset_text_field", "assistant_only_loss", "completion_only_loss", "attn_implementation", "torch_dtype", "dtype", "use_vllm", "max_seq_length", "max_prompt_length", "load_in_4bit", "dataset_config", "script_args"}),
    "accelerate": frozenset({"compute_environment", "distributed_type", "num_processes", "num_machines", "machine_rank", "main_training_function", "fsdp_config", "deepspeed_config", "downcast_bf16", "rdzv_backend", "same_network", "main_process_port", "dynamo_backend"}),
    "trainer": frozenset({"per_device_train_batch_size", "gradient_accumulation_steps", "num_train_epochs", "evaluation_strategy", "eval_strategy", "lr_scheduler_type", "warmup_ratio", "save_strategy", "logging_steps", "load_best_model_at_end", "fp16", "bf16"}),
}  # fmt: skip

# ms-swift's YAML has many names of TrainingArguments and is none of the kinds: nothing is known of its own keys here.
MS_SWIFT = frozenset({"tuner_type", "train_type", "rlhf_type", "split_dataset_ratio", "load_from_cache_file", "model_author", "target_modules", "infer_backend"})  # fmt: skip

_REGISTRY = ("file_name", "hf_hub_url", "ms_hub_url", "om_hub_url", "script_url", "cloud_file_name")
# Files that hold keys of a trainer and are outputs, not configs.
_OUTPUTS = (
    "log_history",
    "best_global_step",
    "peft_type",
    "model_type",
    "architectures",
    "tokenizer_class",
    "schema",
    "added_tokens",
)


def recognise(value: Any, name: str) -> str | None:
    """The kind of a parsed YAML or JSON value, or None for something else."""
    if isinstance(value, list):
        return (
            "data"
            if value and all(isinstance(row, dict) for row in value[:5]) and name.endswith((".json", ".jsonl"))
            else None
        )
    if not isinstance(value, dict) or not value:
        return None
    keys = {str(k) for k in value}
    if name.rpartition("/")[2].startswith("dataset_info") or _registry(value):
        return "dataset_info"
    if "model" in keys and keys & MS_SWIFT and not keys & {"model_name_or_path", "base_model", "stage"}:
        return None
    scores = {kind: _score(kind, keys) for kind in SIGNS}
    if (
        scores["axolotl"]
        and not {"base_model", "datasets", "micro_batch_size", "pretraining_dataset", "sequence_len"} & keys
    ):
        scores["axolotl"] = min(scores["axolotl"], scores["llamafactory"], scores["trl"], scores["trainer"])
    if scores["llamafactory"] and not keys & SIGNS["llamafactory"]:
        scores["llamafactory"] = 0
    if scores["trl"] and not keys & SIGNS["trl"]:
        scores["trl"] = 0
    if any(k in keys for k in _OUTPUTS) and not keys & {"stage", "finetuning_type", "base_model", "zero_optimization"}:
        return None
    best = max(scores, key=lambda kind: (scores[kind], list(SIGNS).index(kind) * -1))
    return best if scores[best] >= 2 else None


def _registry(value: dict[str, Any]) -> bool:
    entries = list(value.values())
    return all(isinstance(e, dict) for e in entries) and any(k in e for e in entries for k in _REGISTRY)


def _score(kind: str, keys: set[str]) -> float:
    """Signs count three, known keys one; a near miss of a sign counts one and a half."""
    known = _known(kind)
    signs = keys & SIGNS[kind]
    score = 3.0 * len(signs) + len((keys & known) - signs)
    everywhere = set().union(*(_known(k) for k in SIGNS))
    strangers = [k for k in keys - everywhere if 5 <= len(k) <= 60]
    score += 1.5 * sum(1 for k in strangers[:20] if nearest(k, SIGNS[kind], cutoff=0.88))
    if kind == "trainer" and len(keys & known) < max(2, len(keys) * 0.3):
        return 0.0
    return score if kind != "trainer" else score - 2.0 * len(signs) + 0.5


@lru_cache
def _known(kind: str) -> frozenset[str]:
    name = "transformers" if kind == "trainer" else kind
    if kind == "deepspeed":
        return frozenset(framework("deepspeed").sections["top"])
    sections = {"axolotl": ("main", "plugins"), "accelerate": ("main", "sagemaker")}.get(kind, ())
    return frozenset(k for v in versions(name) for k in framework(name, v).known(*sections))
