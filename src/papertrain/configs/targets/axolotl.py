"""Axolotl: the YAML of `axolotl train`, for supervised fine-tuning and plain text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from papertrain.configs.lines import Line, cannot, pinned, yaml_text
from papertrain.configs.programs import deepspeed_file
from papertrain.configs.target import Files, Job, Target
from papertrain.configs.targets.deepspeed import trainer_file
from papertrain.configs.words import (
    ATTENTION,
    SHARED_KEYS,
    decided,
    evaluation,
    optimizer,
    sayable,
    schedule_arguments,
    scheduler,
    without_key,
)

VERSION = "0.19.0"
HERE = "axolotl"


def applies(job: Job) -> str | None:
    if job.classifies:
        return "use the custom script for classification"
    if job.plan.model.kind == "encoder-decoder":
        return f"Axolotl {VERSION} loads causal models: an encoder-decoder is none"
    return (
        None
        if job.task in ("sft", "pt")
        else f"preference data has another form in Axolotl: {job.task} is in LLaMA-Factory and TRL"
    )


def dataset(job: Job) -> dict[str, Any]:
    """One data set with the prompt strategy that its columns ask for."""
    columns = dict(job.plan.dataset.columns) if job.plan.dataset is not None else {}
    kind = job.train.rpartition(".")[2]
    entry: dict[str, Any] = {"path": job.train, "ds_type": {"jsonl": "json", "tsv": "csv"}.get(kind, kind)}
    if "messages" in columns:
        entry |= {"type": "chat_template", "field_messages": columns["messages"], "roles_to_train": ["assistant"]}
        if columns["messages"] == "conversations":
            entry["message_property_mappings"] = {"role": "from", "content": "value"}
        return entry
    if "text" in columns and "response" not in columns:
        return entry | {"type": "completion", "field": columns["text"]}
    if (columns.get("prompt"), columns.get("response")) in (("instruction", "output"), (None, None)):
        return entry | {"type": "alpaca"}
    form = {
        "field_instruction": columns.get("prompt", "prompt"),
        "field_output": columns.get("response", "completion"),
        "format": "{instruction}\n",
        "no_input_format": "{instruction}\n",
    }
    return entry | {"type": form}


def sections(job: Job) -> list[tuple[str, list[Line]]]:
    method = str(job.plan.method.value)
    every, save = evaluation(job)
    model = [
        Line("base_model", job.model),
        *pinned(job),
        Line("attn_implementation", ATTENTION.get(str(job.attention), "sdpa"), decision="attention"),
    ]
    adapter = []
    if job.adapters:
        adapter = [
            Line("adapter", "qlora" if method == "qlora" else "lora", decision="method"),
            Line("lora_r", job.lora_rank, decision="lora_rank"),
            Line("lora_alpha", job.lora_alpha, decision="lora_alpha"),
            Line("lora_dropout", job.lora_dropout, decision="lora_dropout"),
            Line("lora_target_linear", True, decision="lora_targets")
            if job.lora_names(",", "*") == "*"
            else Line("lora_target_modules", list(job.lora_targets), decision="lora_targets"),
            *([Line("load_in_4bit", True, decision="method")] if method == "qlora" else []),
            *([Line("peft_use_dora", True, decision="method")] if method == "dora" else []),
            *([Line("peft_use_rslora", True, decision="method")] if method == "rslora" else []),
        ]
    data = [
        Line("datasets", [dataset(job)], "the prompt strategy follows from the columns"),
        *(
            [Line("chat_template", "tokenizer_default", "the template that the model carries")]
            if job.task == "sft"
            else []
        ),
        Line("train_on_inputs", False, "prompts carry no loss"),
        Line(
            "val_set_size",
            0.1 if every else 0.0,
            "a tenth is held out to see overfitting" if every else "no validation is planned",
        ),
        Line("sequence_len", job.sequence_length, decision="sequence_length"),
        Line("sample_packing", bool(job.packing), decision="packing"),
    ]
    train = [
        Line("output_dir", job.run),
        Line("micro_batch_size", job.micro_batch_size, decision="micro_batch_size"),
        Line("gradient_accumulation_steps", job.gradient_accumulation_steps, decision="gradient_accumulation_steps"),
        Line("num_epochs", float(job.epochs), decision="epochs"),
        Line("learning_rate", job.learning_rate, decision="learning_rate"),
        Line("lr_scheduler", scheduler(job), decision="lr_scheduler"),
        *schedule_arguments(job),
        *([Line("warmup_steps", job.warmup_steps, decision="warmup_steps")] if job.warmup_steps is not None else []),
        Line("weight_decay", job.weight_decay, decision="weight_decay"),
        Line("optimizer", optimizer(job), decision="optimizer"),
        Line("max_grad_norm", job.max_grad_norm, decision="max_grad_norm"),
        Line("bf16", job.precision in ("bf16", "pure_bf16"), decision="precision"),
        *([Line("fp16", True, decision="precision")] if job.precision == "fp16" else []),
        Line("gradient_checkpointing", job.gradient_checkpointing != "none", decision="gradient_checkpointing"),
        Line("seed", job.seed, decision="seed"),
        Line("logging_steps", 1 if (job.total_steps or 1000) < 200 else 10),
        *([Line("eval_steps", every, decision="eval_steps")] if every else []),
        *([Line("save_steps", save, decision="save_steps")] if save else []),
        Line("save_total_limit", 2),
        *(
            [Line("early_stopping_patience", job.early_stopping_patience, decision="early_stopping_patience")]
            if job.early_stopping_patience and every
            else []
        ),
    ]
    if job.zero_stage or (job.offload or "none") != "none":
        train.append(Line("deepspeed", deepspeed_file(job, HERE), decision="zero_stage"))
    return [("model", model), ("adapter", adapter), ("data", data), ("training", train)]


def files(job: Job) -> Files:
    file = f"{job.folder(HERE)}/train.yaml"
    return {
        file: yaml_text(job, f"Axolotl {VERSION}: axolotl train {file}", sections(job), cannot(dict(cannot_say(job)))),
        **trainer_file(job),
    }


def says(job: Job) -> Mapping[str, str]:
    keys = SHARED_KEYS | {
        "method": "adapter", "micro_batch_size": "micro_batch_size", "lr_scheduler": "lr_scheduler", "epochs": "num_epochs", "optimizer": "optimizer",
        "attention": "attn_implementation", "packing": "sample_packing", "sequence_length": "sequence_len", "lora_rank": "lora_r",
        "early_stopping_patience": "early_stopping_patience",
        "lora_targets": "lora_target_linear" if job.lora_names(",", "*") == "*" else "lora_target_modules",
    }  # fmt: skip
    return sayable(keys, cannot_say(job))


def cannot_say(job: Job) -> Mapping[str, str]:
    found = without_key(job) | {
        "template": "the template that the tokenizer carries is used",
        "beta": "only preference losses have it",
    }
    if not job.adapters:
        found["method"] = "full fine-tuning is the absence of an adapter"
    if not job.early_stopping_patience or not job.eval_steps:
        found["early_stopping_patience"] = "off, or no validation loss to stop on"
    return decided(job, found)


TARGET = Target(
    id=HERE, title="Axolotl", version=VERSION, files=files, says=says, cannot_say=cannot_say, applies=applies
)
