"""TRL: the YAML of `trl sft|dpo|kto|reward|grpo --config`."""

from __future__ import annotations

from collections.abc import Mapping

from papertrain.configs.lines import Line, cannot, yaml_text
from papertrain.configs.target import Files, Job, Target
from papertrain.configs.words import ATTENTION, DERIVED, evaluation, optimizer, precision_lines, schedule_lines

VERSION = "1.16.0"
HERE = "trl"
VERBS = {"sft": "sft", "dpo": "dpo", "kto": "kto", "rm": "reward", "grpo": "grpo"}


def applies(job: Job) -> str | None:
    if job.classifies:
        return "TRL has no classification trainer: use the custom script"
    return None if job.task in VERBS else f"TRL {VERSION} has no command for the task {job.task}"


def model_lines(job: Job) -> list[Line]:
    dtype = "float32" if job.precision == "fp32" or (job.plan.method.value == "full" and job.precision != "pure_bf16") else (
        "float16" if job.precision == "fp16" else "bfloat16")  # fmt: skip
    lines = [
        Line("model_name_or_path", job.model),
        Line(
            "dtype",
            dtype,
            "trained weights stay in fp32, frozen ones in half precision" if job.precision != "fp32" else "",
        ),
        Line("attn_implementation", ATTENTION.get(str(job.attention), "sdpa"), decision="attention"),
    ]
    if not job.adapters:
        return lines
    method = job.plan.method.value
    lines += [
        Line("use_peft", True, decision="method"),
        Line("lora_r", job.lora_rank, decision="lora_rank"),
        Line("lora_alpha", job.lora_alpha, decision="lora_alpha"),
        Line("lora_dropout", job.lora_dropout, decision="lora_dropout"),
        Line(
            "lora_target_modules",
            ["all-linear"] if job.lora_names(",", "*") == "*" else list(job.lora_targets),
            decision="lora_targets",
        ),
    ]
    lines += (
        [Line("load_in_4bit", True, decision="method"), Line("use_bnb_nested_quant", True)] if method == "qlora" else []
    )
    lines += [Line("use_dora", True)] if method == "dora" else []
    return lines + ([Line("use_rslora", True)] if method == "rslora" else [])


def data_lines(job: Job) -> list[Line]:
    kind = {"jsonl": "json", "tsv": "csv"}.get(job.train.rpartition(".")[2], job.train.rpartition(".")[2])
    lines = [
        Line(
            "datasets",
            [{"path": kind, "data_files": job.train, "split": "train"}],
            "read by the loader of that file type",
        )
    ]
    if job.eval_steps:
        lines.append(Line("test_split_size", 0.1, "a tenth is held out to see overfitting"))
    length = {
        "sft": "max_length",
        "dpo": "max_length",
        "kto": "max_length",
        "rm": "max_length",
        "grpo": "max_completion_length",
    }[job.task]
    lines.append(Line(length, job.sequence_length, decision="sequence_length"))
    if job.task == "sft":
        lines.append(Line("packing", bool(job.packing), decision="packing"))
        if job.plan.dataset is not None and "messages" in job.plan.dataset.columns:
            lines.append(Line("assistant_only_loss", True, "prompts carry no loss; the template must mark generations"))
    return lines


def train_lines(job: Job) -> list[Line]:
    every, save = evaluation(job)
    lines = [
        Line("output_dir", job.run),
        Line("per_device_train_batch_size", job.micro_batch_size, decision="micro_batch_size"),
        Line("gradient_accumulation_steps", job.gradient_accumulation_steps, decision="gradient_accumulation_steps"),
        Line("learning_rate", job.learning_rate, decision="learning_rate"),
        Line("num_train_epochs", float(job.epochs), decision="epochs"),
        *schedule_lines(job),
        Line("weight_decay", job.weight_decay, decision="weight_decay"),
        Line("optim", optimizer(job), decision="optimizer"),
        Line("max_grad_norm", job.max_grad_norm, decision="max_grad_norm"),
        *precision_lines(job),
        Line("gradient_checkpointing", job.gradient_checkpointing != "none", decision="gradient_checkpointing"),
        Line("seed", job.seed, decision="seed"),
        Line("logging_steps", 1 if (job.total_steps or 1000) < 200 else 10),
        Line("report_to", "none"),
    ]
    if job.task in ("dpo", "kto", "grpo") and job.beta is not None:
        lines.append(Line("beta", job.beta, decision="beta"))
    if job.zero_stage or (job.offload or "none") != "none":
        lines.append(
            Line("deepspeed", f"{job.folder('deepspeed')}/ds_zero{job.zero_stage}.json", decision="zero_stage")
        )
    if every:
        lines += [Line("eval_strategy", "steps"), Line("eval_steps", every, decision="eval_steps")]
    if save:
        lines += [Line("save_strategy", "steps"), Line("save_steps", save, decision="save_steps")]
    return [*lines, Line("save_total_limit", 2)]


def files(job: Job) -> Files:
    file = f"{job.folder(HERE)}/{VERBS[job.task]}.yaml"
    sections = [("model", model_lines(job)), ("data", data_lines(job)), ("training", train_lines(job))]
    title = f"TRL {VERSION}: trl {VERBS[job.task]} --config {file}"
    return {file: yaml_text(job, title, sections, [*cannot(dict(cannot_say(job))), *_renaming(job)])}


def _renaming(job: Job) -> list[str]:
    """TRL reads fixed column names and no mapping."""
    columns = {} if job.plan.dataset is None else job.plan.dataset.columns
    wanted = {"prompt": "prompt", "response": "completion", "messages": "messages", "text": "text"}
    wrong = [f"{have} as {wanted[role]}" for role, have in columns.items() if role in wanted and have != wanted[role]]
    if "query" in columns:
        wrong.append(f"{columns['query']} joined to the prompt")
    return [f"cannot say the columns: TRL reads fixed names, so write {', '.join(wrong)} first"] if wrong else []


def says(job: Job) -> Mapping[str, str]:
    found = {
        "micro_batch_size": "per_device_train_batch_size", "gradient_accumulation_steps": "gradient_accumulation_steps",
        "learning_rate": "learning_rate", "lr_scheduler": "lr_scheduler_type", "epochs": "num_train_epochs", "warmup_steps": "warmup_steps",
        "weight_decay": "weight_decay", "optimizer": "optim", "precision": "bf16", "gradient_checkpointing": "gradient_checkpointing",
        "zero_stage": "deepspeed", "offload": "deepspeed", "attention": "attn_implementation", "sequence_length": "max_completion_length" if job.task == "grpo" else "max_length",
        "max_grad_norm": "max_grad_norm", "seed": "seed", "eval_steps": "eval_steps", "save_steps": "save_steps", "packing": "packing",
        "method": "use_peft", "lora_rank": "lora_r", "lora_alpha": "lora_alpha", "lora_dropout": "lora_dropout",
        "lora_targets": "lora_target_modules", "beta": "beta",
    }  # fmt: skip
    return {name: key for name, key in found.items() if name not in cannot_say(job)}


def cannot_say(job: Job) -> Mapping[str, str]:
    found = DERIVED | {
        "early_stopping_patience": "the command line has no early stopping: add the callback in Python",
        "template": "the tokenizer's own template is used",
    }
    if not job.adapters:
        found["method"] = "full fine-tuning is the absence of use_peft"
    if not job.zero_stage and (job.offload or "none") == "none":
        found |= {"zero_stage": "0 is the absence of a deepspeed file", "offload": "none: no deepspeed file is named"}
    if job.task != "sft":
        found["packing"] = "pairs are never packed"
    if job.task not in ("dpo", "kto", "grpo"):
        found["beta"] = "this trainer has none"
    if job.gradient_checkpointing == "selective":
        found["gradient_checkpointing"] = "selective recomputation has no key: every layer is recomputed"
    for name in ("eval_steps", "save_steps", "warmup_steps"):
        if getattr(job, name) is None and not (name == "save_steps" and job.eval_steps):
            found[name] = "the plan could not say it, so the framework's own default holds"
    return {name: why for name, why in found.items() if job.plan.decision(name) is not None}


TARGET = Target(id=HERE, title="TRL", version=VERSION, files=files, says=says, cannot_say=cannot_say, applies=applies)
