"""What is known about the run beside its failure: settings, versions, model, cards, each with the place it was read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from papertrain.core.findings import LogLine
from papertrain.core.values import Value
from papertrain.diagnose.clean import quote

KEYS: dict[str, str] = {
    "bf16": "bf16", "fp16": "fp16", "pure_bf16": "bf16", "learning_rate": "learning_rate", "lr": "learning_rate",
    "per_device_train_batch_size": "micro_batch_size", "train_micro_batch_size_per_gpu": "micro_batch_size", "micro_batch_size": "micro_batch_size",
    "batch_size": "micro_batch_size", "per_device_eval_batch_size": "eval_batch_size", "gradient_accumulation_steps": "gradient_accumulation_steps",
    "gradient_checkpointing": "gradient_checkpointing", "disable_gradient_checkpointing": "no_gradient_checkpointing",
    "overlap_comm": "overlap_comm", "stage3_gather_16bit_weights_on_model_save": "gather_16bit", "finetuning_type": "method", "method": "method",
    "stage": "stage", "model_name_or_path": "model", "base_model": "model", "pretrained_model_name_or_path": "model", "_name_or_path": "model",
    "cutoff_len": "sequence_length", "max_length": "sequence_length", "max_seq_length": "sequence_length", "sequence_length": "sequence_length", "sequence_len": "sequence_length",
    "quantization_bit": "quantization", "load_in_8bit": "load_in_8bit", "load_in_4bit": "load_in_4bit", "attn_implementation": "attention",
    "flash_attn": "attention", "num_train_epochs": "epochs", "epochs": "epochs", "max_steps": "max_steps", "warmup_ratio": "warmup_ratio", "warmup_steps": "warmup_steps",
    "lora_rank": "lora_rank", "lora_r": "lora_rank", "r": "lora_rank", "eval_steps": "eval_steps", "save_steps": "save_steps", "max_grad_norm": "max_grad_norm",
    "gradient_clipping": "max_grad_norm", "resume_from_checkpoint": "resume", "remove_unused_columns": "remove_unused_columns", "template": "template",
    "use_reentrant": "use_reentrant", "beta": "beta", "pref_beta": "beta", "world_size": "gpus", "num_processes": "gpus", "nproc_per_node": "gpus", "num_gpus": "gpus",
    "zero_stage": "zero_stage", "precision": "precision", "mixed_precision": "precision", "torch_dtype": "weights_dtype", "dtype": "weights_dtype",
    "pipeline_model_parallel_size": "pipeline_parallel", "find_unused_parameters": "find_unused_parameters",
    "ddp_find_unused_parameters": "find_unused_parameters", "neat_packing": "packing", "packing": "packing", "train_on_prompt": "train_on_prompt",
    "offload": "offload", "optim": "optimizer", "optimizer": "optimizer", "save_total_limit": "save_total_limit", "ddp_timeout": "ddp_timeout",
    "eval_strategy": "eval_strategy", "evaluation_strategy": "eval_strategy", "save_strategy": "save_strategy", "dataloader_num_workers": "workers",
    "num_labels": "num_labels",
}  # fmt: skip
_NAMED = "|".join(sorted((k for k in KEYS if k not in ("r", "lr", "stage", "method")), key=len, reverse=True))
_SETTING = re.compile(
    rf"""(?<![\w.])["']?(?:--)?({_NAMED}|learning-rate|zero_stage)["']?\s*(?:[:=]\s*|\s+(?=[\w."'/-]+(?:\s|\\|$)))["']?([\w.+/@-]+)"""
)
_STAGE = re.compile(
    r"""["']stage["']\s*:\s*(\d)|ZeRO[- ]?(?:stage|Stage)?[- ]?(\d)\b|\bzero[_-]?(?:stage[=_ ]?)?([0-3])\b|ds_z([0-3])_|zero_stage\D{1,4}([0-3])|zero_optimization_stage \.+ ([0-3])""",
    re.I,
)
_WORLD = re.compile(
    r"""(?:world[_ ]size|num_processes|nproc[_-]per[_-]node|n_gpu|num_gpus|Num GPUs|NPROC_PER_NODE|GPU number|GPU count|number of GPUs)["']?\s*[:= ]\s*["']?(\d{1,4})\b""",
    re.I,
)
_BANNER = re.compile(
    r"\b(Instantaneous batch size per device|Gradient Accumulation steps|Num Epochs|Total optimization steps)\s*=\s*([\d,]+)"
)
BANNER = {
    "Instantaneous batch size per device": "micro_batch_size",
    "Gradient Accumulation steps": "gradient_accumulation_steps",
    "Num Epochs": "epochs",
    "Total optimization steps": "total_steps",
}
"""What the Trainer prints before the first step."""
_VERSION = re.compile(
    r"\b(transformers|torch|deepspeed|peft|trl|accelerate|datasets|bitsandbytes|flash[_-]attn|llamafactory|numpy|nccl|PyTorch|DeepSpeed)`?"
    r"(?:\s+(?:info:\s+)?version)?\s?(?:==|[:=]|\s)\s*(?:version=)?v?(\d+\.\d+(?:\.\d+)?(?:\.?(?:dev|post|rc)\d+)?)", re.I)  # fmt: skip
_MODEL = re.compile(
    r"\b((?:[\w.-]+/)?(?:Llama|Qwen|gemma|Gemma|chatglm|ChatGLM|glm-4|GLM-4|Mistral|Baichuan|baichuan|t5|flan-t5|mt5|opt|gpt2|bloom|falcon|phi|Phi|InternLM|internlm|Yi|deepseek)[\w.-]*)"
)
_SIZE = re.compile(r"(?<![\d.])(\d{1,3}(?:\.\d+)?)[bB](?![a-zA-Z])")
_GPU = re.compile(
    r"\b(V100|T4|P100|P40|RTX ?20\d0|2080(?: ?Ti)?|TITAN RTX|A100|A800|H100|H800|H200|A10G?|A40|A6000|L4|L40S?|RTX ?[345]0\d0(?: ?Ti)?|[345]0[789]0|910B?|MI2\d0X?|MI3\d0X?)\b"
)
NO_BF16 = ("V100", "T4", "P100", "P40", "2080", "TITAN RTX", "RTX 20", "RTX20")


class Fact(Value, frozen=True, kw_only=True):
    """`rank`: a config named by the user outweighs a line in the log."""

    value: Any
    where: LogLine
    rank: int = 0


class Facts:
    """name → fact. A later source replaces an earlier one only where it is closer to the user."""

    def __init__(self) -> None:
        self.found: dict[str, Fact] = {}

    def put(self, name: str, value: Any, where: LogLine, rank: int = 0) -> None:
        if value is not None and (name not in self.found or rank > self.found[name].rank):
            self.found[name] = Fact(value=value, where=where, rank=rank)

    def get(self, name: str, default: Any = None) -> Any:
        return self.found[name].value if name in self.found else default

    def number(self, name: str) -> float | None:
        value = self.get(name)
        if isinstance(value, bool) or value is None:
            return None
        try:
            return float(value)
        except (TypeError, ValueError):
            return None

    def true(self, name: str) -> bool | None:
        value = self.get(name)
        if value is None:
            return None
        return str(value).lower() in ("true", "1", "yes", "enabled", "on")

    def where(self, *names: str) -> list[LogLine]:
        return [self.found[n].where for n in names if n in self.found and self.found[n].where.file]

    @property
    def precision(self) -> str | None:
        if self.true("bf16"):
            return "bf16"
        if self.true("fp16"):
            return "fp16"
        said = str(self.get("precision", "")).lower()
        return next((p for p in ("bf16", "fp16", "fp32") if p in said), None)

    def version(self, name: str) -> tuple[int, ...] | None:
        text = self.get("version:" + name)
        return tuple(int(x) for x in re.findall(r"\d+", text)[:3]) if text else None

    @property
    def billions(self) -> float | None:
        """Size of the model as its name says it, in 10^9 parameters."""
        n = self.number("parameters")
        if n:
            return n / 1e9
        m = _SIZE.search(str(self.get("model", "")))
        return float(m[1]) if m else None

    @property
    def no_bf16_card(self) -> str | None:
        gpu = str(self.get("gpu", ""))
        return gpu if any(g in gpu for g in NO_BF16) else None


def typed(text: str) -> Any:
    low = text.strip("\"',").lower()
    if low in ("true", "false"):
        return low == "true"
    if low in ("none", "null", "auto"):
        return None
    try:
        return float(low) if any(c in low for c in ".e") and low[0] in "0123456789.-+" else int(low)
    except ValueError:
        return text.strip("\"',")


def from_text(facts: Facts, lines: Iterable[tuple[int, str]], name: str, rank: int) -> None:
    """Settings, versions and names that a text prints: a log's head, a script, a start command."""
    for no, text in lines:
        if len(text) < 3 or text.startswith(("{'loss'", '{"loss"', '{"current_steps"')):
            continue
        where = LogLine(file=name, line=no, text=quote(text))
        for m in _SETTING.finditer(text[:4000]):
            facts.put(KEYS.get(m[1].replace("-", "_"), m[1]), typed(m[2]), where, rank)
        for m in _BANNER.finditer(text):
            # The program's own word on the run outweighs a setting that is merely printed.
            facts.put(BANNER[m[1]], int(m[2].replace(",", "")), where, rank + 1)
        for m in _VERSION.finditer(text):
            package = {"pytorch": "torch", "flash-attn": "flash_attn"}.get(m[1].lower(), m[1].lower())
            facts.put("version:" + package, m[2], where, rank)
        if m2 := _STAGE.search(text):
            facts.put("zero_stage", int(next(g for g in m2.groups() if g)), where, rank)
        if m2 := _WORLD.search(text):
            facts.put("gpus", int(m2[1]), where, rank)
        if m2 := _MODEL.search(text):
            facts.put("model", m2[1], where, rank)
        if m2 := _GPU.search(text):
            facts.put("gpu", m2[1], where, rank)


def flat(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, Mapping):
        for k, v in value.items():
            yield from flat(v, (*path, str(k)))
    elif not isinstance(value, list):
        yield path, value


def from_tree(facts: Facts, value: Any, line_of: Any, text_lines: list[str], name: str, rank: int = 2) -> None:
    """Settings of a parsed YAML or JSON config."""
    for path, leaf in flat(value):
        if leaf is None or leaf == "auto" or not path:
            continue
        no = line_of(*path)
        where = LogLine(file=name, line=no, text=quote(text_lines[no - 1] if 0 < no <= len(text_lines) else str(leaf)))
        key = path[-1]
        if key == "stage" and "zero_optimization" in path:
            facts.put("zero_stage", leaf, where, rank)
        elif key == "enabled" and len(path) > 1 and path[-2] in ("bf16", "fp16", "bfloat16"):
            facts.put("bf16" if path[-2] != "fp16" else "fp16", leaf, where, rank)
        elif key == "deepspeed" and isinstance(leaf, str):
            facts.put("deepspeed_config", leaf, where, rank)
            if m := _STAGE.search(leaf):
                facts.put("zero_stage", int(next(g for g in m.groups() if g)), where, rank - 1)
        elif key == "device" and len(path) > 1 and path[-2].startswith("offload"):
            facts.put("offload", leaf, where, rank)
        elif key in KEYS and not isinstance(leaf, Mapping):
            facts.put(KEYS[key], leaf, where, rank)


def from_plan(facts: Facts, plan: Any, name: str) -> None:
    for decision in plan.decisions():
        where = LogLine(file=name, line=0, text=f"{decision.name} = {decision.value}")
        facts.put(decision.name, decision.value, where, 3)
    facts.put("model", plan.model.name, LogLine(file=name, line=0, text=plan.model.name), 3)
    facts.put("parameters", plan.model.parameters, LogLine(file=name, line=0, text=""), 3)
    facts.put("gpus", plan.compute.gpus, LogLine(file=name, line=0, text=f"{plan.compute.gpus} GPUs"), 3)
    facts.put("gpu", plan.compute.gpu.label, LogLine(file=name, line=0, text=plan.compute.gpu.label), 3)
