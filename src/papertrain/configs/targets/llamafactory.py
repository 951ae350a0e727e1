"""LLaMA-Factory: the YAML of training, prediction, export and chat, and the dataset_info.json that they name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from papertrain.configs.datasets import dataset_entry
from papertrain.configs.lines import Line, cannot, json_text, pinned, yaml_text
from papertrain.configs.programs import deepspeed_file
from papertrain.configs.target import PREFERENCE, Files, Job, Target
from papertrain.configs.targets.deepspeed import trainer_file
from papertrain.configs.words import (
    TRAINER_KEYS,
    decided,
    evaluation,
    optimizer,
    precision_lines,
    sayable,
    schedule_lines,
    without_key,
)
from papertrain.facts.frameworks.load import chat_template

VERSION = "0.9.5"
STAGES = {"sft": "sft", "pt": "pt", "rm": "rm", "ppo": "ppo", "dpo": "dpo", "orpo": "dpo", "simpo": "dpo", "kto": "kto"}
ATTENTION = {"eager": "disabled", "sdpa": "sdpa", "flash": "fa2"}
HERE = "llamafactory"


def applies(job: Job) -> str | None:
    if job.classifies:
        return f"LLaMA-Factory {VERSION} has no classification stage: use the custom script"
    if job.plan.model.kind == "encoder-decoder":
        return f"LLaMA-Factory {VERSION} lays prompt and answer into one sequence: an encoder would read the answer"
    if job.task == "kto" and job.plan.dataset is not None and job.plan.dataset.format.startswith("preference"):
        return f"LLaMA-Factory {VERSION} reads KTO from rows with a tag, not from pairs: TRL takes pairs apart"
    if job.task not in STAGES:
        return f"LLaMA-Factory {VERSION} has no stage for the task {job.task}"
    return None


def template(job: Job) -> str:
    """The framework's template of this model; `default` for a base model that has none."""
    return job.template or chat_template(job.model) or chat_template(job.plan.model.name) or "default"


def model_lines(job: Job) -> list[Line]:
    lines = [Line("model_name_or_path", job.model), *pinned(job)]
    if job.plan.method.value == "qlora":
        lines += [
            Line("quantization_bit", 4, decision="method"),
            Line("quantization_method", "bnb"),
            Line("double_quantization", True),
        ]
    return [*lines, Line("flash_attn", ATTENTION.get(str(job.attention), "auto"), decision="attention")]


def method_lines(job: Job) -> list[Line]:
    method = str(job.plan.method.value)
    kind = "lora" if job.adapters else method
    lines = [
        Line("stage", STAGES[job.task], f"the task is {job.task}"),
        Line("do_train", True),
        Line("finetuning_type", kind, decision="method"),
    ]
    if job.adapters:
        lines += [
            Line("lora_rank", job.lora_rank, decision="lora_rank"),
            Line("lora_alpha", job.lora_alpha, decision="lora_alpha"),
            Line("lora_dropout", job.lora_dropout, decision="lora_dropout"),
            Line("lora_target", job.lora_names(",", "all"), decision="lora_targets"),
        ]
        lines += [Line("use_dora", True, decision="method")] if method == "dora" else []
        lines += [Line("use_rslora", True, decision="method")] if method == "rslora" else []
    if job.precision == "pure_bf16":
        lines.append(Line("pure_bf16", True, decision="precision"))
    if STAGES[job.task] in ("dpo", "kto"):
        lines.append(Line("pref_beta", job.beta if job.beta is not None else 0.1, decision="beta"))
    if STAGES[job.task] == "dpo":
        lines.append(
            Line("pref_loss", job.task if job.task in ("orpo", "simpo") else "sigmoid", f"the task is {job.task}")
        )
    if job.task == "ppo":
        lines.append(
            Line("reward_model", "REWARD_MODEL", "the plan does not know it: name the folder of your reward model")
        )
        lines.append(
            Line("reward_model_type", "lora" if job.adapters else "full", "full training refuses an adapter here")
        )
    return lines


def dataset_lines(job: Job) -> list[Line]:
    lines = [
        Line("dataset", job.data_name, f"described in {job.folder(HERE)}/dataset_info.json"),
        Line("dataset_dir", job.folder(HERE)),
        Line("template", template(job), job.why("template") or "LLaMA-Factory's own template of this model"),
        Line("cutoff_len", job.sequence_length, decision="sequence_length"),
    ]
    if job.packing and job.task in ("sft", "pt"):
        lines.append(Line("packing", True, decision="packing"))
        if job.task == "sft":
            lines.append(Line("neat_packing", True, "examples in one sequence must not see each other"))
    elif job.task in ("sft", "pt"):
        lines.append(Line("packing", False, job.why("packing") or "one example per sequence"))
    lines.append(Line("preprocessing_num_workers", 1 if job.on_cpu else 8))
    if job.on_cpu:
        lines.append(Line("dataloader_num_workers", 0, "workers would take cores from the training"))
    return lines


def train_lines(job: Job) -> list[Line]:
    lines = [
        Line("per_device_train_batch_size", job.micro_batch_size, decision="micro_batch_size"),
        Line("gradient_accumulation_steps", job.gradient_accumulation_steps, _batch(job)),
        Line("learning_rate", job.learning_rate, decision="learning_rate"),
        Line("num_train_epochs", float(job.epochs), decision="epochs"),
        *schedule_lines(job),
        Line("weight_decay", job.weight_decay, decision="weight_decay"),
        Line("optim", optimizer(job), decision="optimizer"),
        Line("max_grad_norm", job.max_grad_norm, decision="max_grad_norm"),
        *precision_lines(job, pure=False),
        Line("disable_gradient_checkpointing", job.gradient_checkpointing == "none", decision="gradient_checkpointing"),
        Line("seed", job.seed, decision="seed"),
    ]
    if job.zero_stage or (job.offload or "none") != "none":
        lines.append(Line("deepspeed", deepspeed_file(job, HERE), decision="zero_stage"))
    if job.devices > 1:
        lines.append(
            Line(
                "ddp_timeout",
                180_000_000,
                "rank 0 tokenises while the others wait: the default of 30 minutes ends big data sets",
            )
        )
    return lines


def _batch(job: Job) -> str:
    why = job.why("gradient_accumulation_steps")
    product = f"global batch {job.global_batch_size} = {job.micro_batch_size} × {job.gradient_accumulation_steps} × {job.devices}"
    return why if product in why else f"{why.rstrip('.')}; {product}"


def eval_lines(job: Job) -> list[Line]:
    every, save = evaluation(job)
    lines = []
    if every:
        held = (
            Line("eval_dataset", f"{job.data_name}_validation")
            if job.validation
            else Line("val_size", 0.1, "a tenth is held out to see overfitting")
        )
        lines = [
            held,
            Line("eval_strategy", "steps"),
            Line("eval_steps", every, decision="eval_steps"),
            Line("per_device_eval_batch_size", job.micro_batch_size, "what fits in training fits in validation"),
        ]
    lines += (
        [Line("save_strategy", "steps"), Line("save_steps", save, decision="save_steps")]
        if save
        else [Line("save_strategy", "epoch")]
    )
    lines.append(Line("save_total_limit", 2, "the last and the best; each holds the optimizer too"))
    if every and save and job.task not in ("rm", "ppo") and job.early_stopping_patience:
        lines += [
            Line("load_best_model_at_end", True, "early stopping looks back to the best checkpoint"),
            Line("metric_for_best_model", "eval_loss"),
            Line("greater_is_better", False),
            Line("early_stopping_steps", job.early_stopping_patience, decision="early_stopping_patience"),
        ]
    return lines


def files(job: Job) -> Files:
    here = job.folder(HERE)
    stage = STAGES[job.task]
    output = [
        Line("output_dir", job.run),
        Line("logging_steps", 1 if (job.total_steps or 1000) < 200 else 10, "often enough to see a spike"),
        Line("plot_loss", True),
        Line("report_to", "none", "papertrain watch reads the log in the run folder"),
    ]
    sections = [
        ("model", model_lines(job)), ("method", method_lines(job)), ("data", dataset_lines(job)), ("output", output),
        ("training", train_lines(job)), ("validation and checkpoints", eval_lines(job)),
    ]  # fmt: skip
    found = {
        f"{here}/train.yaml": yaml_text(
            job,
            f"LLaMA-Factory {VERSION}: llamafactory-cli train {here}/train.yaml",
            sections,
            cannot(dict(cannot_say(job))),
        ),
        f"{here}/dataset_info.json": json_text(dataset_info(job)),
        f"{here}/chat.yaml": yaml_text(job, f"llamafactory-cli chat {here}/chat.yaml", [("model", served_lines(job))]),
    }
    if job.adapters:
        export = [
            *served_lines(job)[:-1],
            Line("export_dir", f"{job.run}/merged"),
            Line("export_size", 5, "GB per file"),
            Line("export_device", "cpu"),
        ]
        found[f"{here}/export.yaml"] = yaml_text(
            job, f"llamafactory-cli export {here}/export.yaml: adapters merged into the weights", [("model", export)]
        )
    if stage == "sft":
        found[f"{here}/predict.yaml"] = yaml_text(
            job, f"llamafactory-cli train {here}/predict.yaml", [("prediction", predict_lines(job))]
        )
    return found | trainer_file(job)


def served_lines(job: Job) -> list[Line]:
    """The trained model, under the template that it was trained with."""
    lines = [Line("model_name_or_path", job.model if job.adapters else job.run)]
    lines += [Line("adapter_name_or_path", job.run), *pinned(job)] if job.adapters else []
    kind = "lora" if job.adapters else str(job.plan.method.value)
    return [
        *lines,
        Line("finetuning_type", kind),
        Line("template", template(job), "the same as in training"),
        Line("infer_backend", "huggingface"),
    ]


def predict_lines(job: Job) -> list[Line]:
    held = f"{job.data_name}_test" if job.test else f"{job.data_name}_validation" if job.validation else job.data_name
    why = (
        ""
        if job.test or job.validation
        else "the plan names no held-out file: these are the training examples, so not a result"
    )
    return [
        *served_lines(job)[:-1],
        Line("stage", "sft"),
        Line("do_predict", True),
        Line("eval_dataset", held, why),
        Line("dataset_dir", job.folder(HERE)),
        Line("cutoff_len", job.sequence_length),
        Line("per_device_eval_batch_size", job.micro_batch_size),
        Line("predict_with_generate", True, "one answer per example, in generated_predictions.jsonl"),
        Line("max_new_tokens", 512),
        Line("do_sample", False, "greedy: the same answers again"),
        Line("output_dir", f"{job.run}/predictions"),
        Line("report_to", "none"),
        *([Line("bf16_full_eval", True)] if job.precision in ("bf16", "pure_bf16") and not job.on_cpu else []),
        *([Line("use_cpu", True)] if job.on_cpu else []),
        Line("seed", job.seed),
    ]


def dataset_info(job: Job) -> dict[str, Any]:
    """Files as LLaMA-Factory finds them: seen from dataset_dir."""
    up = "../" * len(job.folder(HERE).split("/"))
    places = {
        job.data_name: job.train,
        f"{job.data_name}_validation": job.validation,
        f"{job.data_name}_test": job.test,
    }
    return {
        name: dataset_entry(path if path.startswith("/") else up + path, job.plan.dataset, job.task)
        for name, path in places.items()
        if path
    }


def says(job: Job) -> Mapping[str, str]:
    keys = TRAINER_KEYS | {
        "method": "finetuning_type", "gradient_checkpointing": "disable_gradient_checkpointing", "attention": "flash_attn", "packing": "packing",
        "sequence_length": "cutoff_len", "early_stopping_patience": "early_stopping_steps", "template": "template", "lora_rank": "lora_rank",
        "lora_targets": "lora_target", "beta": "pref_beta",
    }  # fmt: skip
    return sayable(keys, cannot_say(job))


def cannot_say(job: Job) -> Mapping[str, str]:
    found = without_key(job)
    if job.task in PREFERENCE or job.task == "ppo":
        found["packing"] = "pairs are never packed"
    if job.task not in ("dpo", "orpo", "simpo", "kto"):
        found["beta"] = "only preference losses have it"
    if not job.early_stopping_patience or not job.eval_steps or job.task in ("rm", "ppo"):
        found["early_stopping_patience"] = "off, or no validation loss to stop on in this stage"
    return decided(job, found)


TARGET = Target(
    id=HERE, title="LLaMA-Factory", version=VERSION, files=files, says=says, cannot_say=cannot_say, applies=applies
)  # fmt: skip
