"""TRL: the YAML of `trl sft|dpo|kto|reward|grpo --config`."""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd

from papertrain.configs.lines import Line, cannot, pinned, yaml_text
from papertrain.configs.programs import deepspeed_file
from papertrain.configs.target import Files, Job, Target
from papertrain.configs.targets.deepspeed import trainer_file
from papertrain.configs.words import (
    ATTENTION,
    TRAINER_KEYS,
    decided,
    evaluation,
    optimizer,
    precision_lines,
    sayable,
    schedule_lines,
    without_key,
)

VERSION = "1.16.0"
HERE = "trl"
VERBS = {"sft": "sft", "dpo": "dpo", "kto": "kto", "rm": "reward", "grpo": "grpo"}


def applies(job: Job) -> str | None:
    if job.classifies:
        return "TRL has no classification trainer: use the custom script"
    if job.plan.model.kind == "encoder-decoder":
        return f"TRL {VERSION} loads causal models: an encoder-decoder is none"
    if job.task == "grpo" and completions(job) < 2:
        return "one completion per optimizer step makes no group: GRPO compares at least two answers to a prompt"
    return None if job.task in VERBS else f"TRL {VERSION} has no command for the task {job.task}"


def completions(job: Job) -> int:
    """How many answers one optimizer step learns from."""
    return int(job.micro_batch_size) * int(job.gradient_accumulation_steps) * job.devices


def group(job: Job) -> int:
    """Answers per prompt: TRL's 8, or the most under it that fill the step in whole groups; it refuses any other number."""
    batch = completions(job)
    return next((n for n in range(8, 1, -1) if batch % n == 0), batch)


def group_lines(job: Job) -> list[Line]:
    n, batch = group(job), completions(job)
    share = n // gcd(n, job.devices)
    held = share * max(1, int(job.micro_batch_size) // share)
    evaluated = [Line("per_device_eval_batch_size", held, f"× {job.devices} devices: whole groups again")]
    return [
        Line("num_generations", n, f"answers per prompt; {batch} per optimizer step are whole groups of {n}"),
        *(evaluated if job.eval_steps else []),
    ]


def model_lines(job: Job) -> list[Line]:
    dtype = "float32" if job.precision == "fp32" or (job.plan.method.value == "full" and job.precision != "pure_bf16") else (
        "float16" if job.precision == "fp16" else "bfloat16")  # fmt: skip
    lines = [
        Line("model_name_or_path", job.model),
        *pinned(job),
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
    generated = (
        "of the rows at hand; answers that are generated may be longer, and are cut there" if job.task == "grpo" else ""
    )
    lines.append(Line(length, job.sequence_length, generated, decision="sequence_length"))
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
    if job.task == "grpo":
        lines += group_lines(job)
    if job.task in ("dpo", "kto", "grpo") and job.beta is not None:
        lines.append(Line("beta", job.beta, decision="beta"))
    if job.zero_stage or (job.offload or "none") != "none":
        lines.append(Line("deepspeed", deepspeed_file(job, HERE), decision="zero_stage"))
    if every:
        lines += [Line("eval_strategy", "steps"), Line("eval_steps", every, decision="eval_steps")]
    if save:
        lines += [Line("save_strategy", "steps"), Line("save_steps", save, decision="save_steps")]
    return [*lines, Line("save_total_limit", 2)]


def files(job: Job) -> Files:
    file = f"{job.folder(HERE)}/{VERBS[job.task]}.yaml"
    sections = [("model", model_lines(job)), ("data", data_lines(job)), ("training", train_lines(job))]
    title = f"TRL {VERSION}: trl {VERBS[job.task]} --config {file}"
    return {
        file: yaml_text(job, title, sections, [*cannot(dict(cannot_say(job))), *_renaming(job), *_reward(job)]),
        **trainer_file(job),
    }


def _reward(job: Job) -> list[str]:
    """What an answer is worth is no decision of the plan."""
    if job.task != "grpo":
        return []
    return [
        "cannot say the reward, without which GRPO does not start: add reward_funcs (accuracy_reward, or a.module.function of yours) or reward_model_name_or_path"
    ]


def _renaming(job: Job) -> list[str]:
    """TRL reads fixed column names and no mapping."""
    columns = {} if job.plan.dataset is None else job.plan.dataset.columns
    wanted = {"prompt": "prompt", "response": "completion", "messages": "messages", "text": "text"}
    wrong = [f"{have} as {wanted[role]}" for role, have in columns.items() if role in wanted and have != wanted[role]]
    if "query" in columns:
        wrong.append(f"{columns['query']} joined to the prompt")
    return [f"cannot say the columns: TRL reads fixed names, so write {', '.join(wrong)} first"] if wrong else []


def says(job: Job) -> Mapping[str, str]:
    keys = TRAINER_KEYS | {
        "attention": "attn_implementation", "sequence_length": "max_completion_length" if job.task == "grpo" else "max_length", "packing": "packing",
        "method": "use_peft", "lora_rank": "lora_r", "lora_targets": "lora_target_modules", "beta": "beta",
    }  # fmt: skip
    return sayable(keys, cannot_say(job))


def cannot_say(job: Job) -> Mapping[str, str]:
    found = without_key(job) | {
        "early_stopping_patience": "the command line has no early stopping: add the callback in Python",
        "template": "the tokenizer's own template is used",
    }
    if not job.adapters:
        found["method"] = "full fine-tuning is the absence of use_peft"
    if job.task != "sft":
        found["packing"] = "pairs are never packed"
    if job.task not in ("dpo", "kto", "grpo"):
        found["beta"] = "this trainer has none"
    return decided(job, found)


TARGET = Target(id=HERE, title="TRL", version=VERSION, files=files, says=says, cannot_say=cannot_say, applies=applies)
