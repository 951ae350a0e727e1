"""The custom training script: train.py and evaluate.py, self-contained, with the plan's values as argparse defaults."""

from __future__ import annotations

import ast
import json
import textwrap
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from papertrain.configs.lines import json_text
from papertrain.configs.target import Files, Job, Target
from papertrain.configs.targets import deepspeed
from papertrain.configs.words import ATTENTION, scheduler
from papertrain.core.values import Value

TEMPLATES = Path(__file__).with_name("script_files")
HERE = "script"
VERSION = "transformers 5.24, torch 2.13"
SAID = {
    "method": "method", "micro_batch_size": "micro_batch_size", "global_batch_size": "global_batch_size", "learning_rate": "learning_rate",
    "lr_scheduler": "lr_scheduler", "epochs": "epochs", "warmup_steps": "warmup_steps", "weight_decay": "weight_decay",
    "optimizer": "optimizer", "precision": "precision", "gradient_checkpointing": "gradient_checkpointing", "attention": "attention",
    "packing": "packing", "sequence_length": "sequence_length", "max_grad_norm": "max_grad_norm", "seed": "seed", "eval_steps": "eval_steps",
    "save_steps": "save_steps", "early_stopping_patience": "early_stopping_patience", "lora_rank": "lora_rank", "lora_alpha": "lora_alpha",
    "lora_dropout": "lora_dropout", "lora_targets": "lora_targets",
}  # fmt: skip


SHARDED = {"zero_stage": "stage", "offload": "offload_optimizer"}
"""What ds_zeroN.json beside the script says; every startup command names that file."""
_COLUMNS = ("prompt", "query", "response", "messages", "text", "label")


class Default(Value, frozen=True, kw_only=False):
    """The default of one argument and the reason for it."""

    value: Any
    why: str = ""


def applies(job: Job) -> str | None:
    if job.task not in ("sft", "pt", "classification"):
        return f"the script trains sft, plain text and classification; {job.task} is in LLaMA-Factory and TRL"
    if job.plan.method.value not in ("full", "lora", "qlora", "dora"):
        return f"the script has no method {job.plan.method.value}"
    if job.plan.model.kind not in ("causal", "encoder"):
        return f"the script loads causal models and encoders, not {job.plan.model.kind} ones"
    return None


def defaults(job: Job) -> dict[str, Default]:
    """Argument → default. Arguments that are not named here keep the template's."""
    found = {
        argument: Default(getattr(job, name), job.why(name))
        for name, argument in SAID.items()
        if getattr(job, name) is not None
    }
    columns = {} if job.plan.dataset is None else job.plan.dataset.columns
    found |= {
        "model": Default(job.model),
        "task": Default("classification" if job.classifies else "sft"),
        "train_file": Default(job.train),
        "validation_file": Default(job.validation or ""),
        "test_file": Default(job.test or ""),
        **(
            {"validation_fraction": Default(job.validation_share, job.why("validation_share"))}
            if job.validation_share is not None
            else {}
        ),
        "output_dir": Default(job.run),
        "logging_steps": Default(1 if (job.total_steps or 0) < 1000 else 10, "often enough to see a spike"),
        "lr_scheduler": Default(scheduler(job), job.why("lr_scheduler")),
        "attention": Default(ATTENTION.get(str(job.attention), "sdpa"), job.why("attention")),
        **{f"{role}_column": Default(columns[role]) for role in _COLUMNS if role in columns},
    }
    if job.adapters:
        found["lora_targets"] = Default(job.lora_names(",", "all-linear"), job.why("lora_targets"))
    if job.classifies:
        found.pop("packing", None)
    if job.optimizer == "cpu_adamw":
        found["optimizer"] = Default("adamw", "DeepSpeed moves it to the host where the optimizer is offloaded")
    return found


def files(job: Job) -> Files:
    here = job.folder(HERE)
    return {
        f"{here}/train.py": filled(_template("train.py"), defaults(job), job),
        f"{here}/evaluate.py": _template("evaluate.py"),
        **({f"{here}/ds_zero{job.zero_stage}.json": json_text(deepspeed.for_script(job))} if job.zero_stage else {}),
    }


@lru_cache
def _template(name: str) -> str:
    return (TEMPLATES / name).read_text("utf-8")


def filled(text: str, values: Mapping[str, Default], job: Job) -> str:
    """The template with each `arg("--name", default, "help")` given the plan's default and its reason.

    Raises KeyError for a value that the template has no argument for.
    """
    lines = text.splitlines(keepends=True)
    left = dict(values)
    for argument in reversed(_arguments(text)):
        if argument.name in values:
            lines[argument.first - 1 : argument.last] = [_argument(argument, left.pop(argument.name))]
    if left:
        raise KeyError(f"train.py has no argument for {', '.join(left)}")
    return _mark("".join(lines), job)


class Argument(Value, frozen=True, kw_only=True):
    """One `arg(…)` call of the template: where it stands and what of it stays."""

    name: str
    kind: type
    first: int
    last: int
    indent: int
    what: str
    rest: str


@lru_cache(maxsize=4)
def _arguments(text: str) -> tuple[Argument, ...]:
    found = []
    for call in ast.walk(ast.parse(text)):
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "arg"):
            continue
        rest = "".join(f", {k.arg}={ast.get_source_segment(text, k.value)}" for k in call.keywords)
        name = ast.literal_eval(call.args[0]).removeprefix("--")
        what = ast.get_source_segment(text, call.args[2]) or ""
        kind = type(ast.literal_eval(call.args[1]))
        found.append(
            Argument(
                name=name,
                kind=kind,
                first=call.lineno,
                last=call.end_lineno or call.lineno,
                indent=call.col_offset,
                what=what,
                rest=rest,
            )
        )
    return tuple(sorted(found, key=lambda a: a.first))


def _argument(argument: Argument, default: Default) -> str:
    pad, value = " " * argument.indent, argument.kind(default.value)
    line = f'{pad}arg("--{argument.name}", {_literal(value)}, {argument.what}{argument.rest})'
    if not default.why:
        return line + "\n"
    parts = textwrap.wrap(default.why, 100)
    quoted = f"\n{pad}        ".join(_literal(p + (" " if i < len(parts) - 1 else "")) for i, p in enumerate(parts))
    return f"{line[:-1]},\n{pad}    why={quoted})\n"


def _literal(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _mark(text: str, job: Job) -> str:
    first, rest = text.split("\n", 1)
    marks = [
        f"# Written by papertrain from plans/{job.name}/plan.json: the defaults are that plan's, with its reasons as help."
    ]
    if not job.confirmed:
        marks.append("# unconfirmed: nobody has confirmed this plan yet (papertrain status . --confirm derive)")
    return "\n".join([first, *marks, rest])


def says(job: Job) -> Mapping[str, str]:
    return {
        name: argument
        for name, argument in (SAID | SHARDED).items()
        if job.plan.decision(name) is not None and name not in cannot_say(job)
    }


def cannot_say(job: Job) -> Mapping[str, str]:
    found = {
        "gradient_accumulation_steps": "follows from global and micro batch and the devices at hand, so that the experiment stays the same on other machines",
        "total_steps": "follows from epochs and examples; the first line of train_log.jsonl says it",
        **({} if job.zero_stage else {"zero_stage": "0 is plain data parallelism: no DeepSpeed file is written"}),
        **({} if deepspeed.offloads(job) else {"offload": "none: nothing is kept on the host"}),
        "template": "the script uses the template that the tokenizer carries",
    }
    if job.classifies:
        found["packing"] = "a classifier reads one text per sequence"
    if job.gradient_checkpointing == "selective":
        found["gradient_checkpointing"] = "recomputes every layer: slower and smaller than planned"
    for name in SAID:
        if job.plan.decision(name) is not None and getattr(job, name) is None:
            found[name] = (
                "the plan could not say it: once per epoch" if name.endswith("_steps") else "the plan could not say it"
            )
    if job.plan.beta is not None:
        found["beta"] = "only preference losses have it"
    return {name: why for name, why in found.items() if job.plan.decision(name) is not None}


TARGET = Target(
    id=HERE,
    title="the custom training script",
    version=VERSION,
    files=files,
    says=says,
    cannot_say=cannot_say,
    applies=applies,
)
