"""A number that cannot work."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, number
from papertrain.configs.checking.world import World
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source

POSITIVE, NOT_NEGATIVE, SHARE, BELOW_ONE = "above 0", "0 or more", "between 0 and 1", "at least 0 and below 1"
ONE_OR_MORE = "1 or more"
# By the Trainer's or LLaMA-Factory's name; other frameworks' names come from the aliases.
RANGES: dict[str, str] = {
    "lora_rank": ONE_OR_MORE, "lora_alpha": POSITIVE, "cutoff_len": ONE_OR_MORE, "per_device_train_batch_size": ONE_OR_MORE,
    "per_device_eval_batch_size": ONE_OR_MORE, "gradient_accumulation_steps": ONE_OR_MORE, "learning_rate": NOT_NEGATIVE, "weight_decay": NOT_NEGATIVE,
    "max_grad_norm": NOT_NEGATIVE, "warmup_steps": NOT_NEGATIVE, "warmup_ratio": SHARE, "lora_dropout": BELOW_ONE, "adam_beta1": BELOW_ONE,
    "adam_beta2": BELOW_ONE, "adam_epsilon": NOT_NEGATIVE, "label_smoothing_factor": BELOW_ONE, "num_train_epochs": POSITIVE, "save_steps": NOT_NEGATIVE,
    "eval_steps": NOT_NEGATIVE, "max_samples": ONE_OR_MORE, "preprocessing_batch_size": ONE_OR_MORE, "max_new_tokens": ONE_OR_MORE,
    "save_total_limit": ONE_OR_MORE, "dataloader_num_workers": NOT_NEGATIVE, "preprocessing_num_workers": ONE_OR_MORE, "val_size": NOT_NEGATIVE,
    "max_length": ONE_OR_MORE, "num_generations": ONE_OR_MORE, "max_completion_length": ONE_OR_MORE, "temperature": NOT_NEGATIVE, "top_p": SHARE,
    "early_stopping_steps": ONE_OR_MORE, "early_stopping_patience": ONE_OR_MORE, "neftune_noise_alpha": NOT_NEGATIVE, "seed": NOT_NEGATIVE,
    "beta": NOT_NEGATIVE, "pref_beta": NOT_NEGATIVE, "ddp_timeout": ONE_OR_MORE, "buffer_size": ONE_OR_MORE, "export_size": ONE_OR_MORE,
    "num_processes": ONE_OR_MORE, "num_machines": ONE_OR_MORE, "machine_rank": NOT_NEGATIVE, "logging_steps": NOT_NEGATIVE,
}  # fmt: skip
DEEPSPEED: dict[tuple[str, ...], str] = {
    ("train_batch_size",): ONE_OR_MORE, ("train_micro_batch_size_per_gpu",): ONE_OR_MORE, ("gradient_accumulation_steps",): ONE_OR_MORE,
    ("gradient_clipping",): NOT_NEGATIVE, ("steps_per_print",): ONE_OR_MORE, ("zero_optimization", "reduce_bucket_size"): ONE_OR_MORE,
    ("zero_optimization", "allgather_bucket_size"): ONE_OR_MORE, ("zero_optimization", "sub_group_size"): NOT_NEGATIVE,
    ("optimizer", "params", "lr"): NOT_NEGATIVE, ("optimizer", "params", "weight_decay"): NOT_NEGATIVE, ("fp16", "initial_scale_power"): NOT_NEGATIVE,
}  # fmt: skip
# What means "not used" in some framework, and is therefore no mistake.
_OFF = {("max_samples", -1), ("cutoff_len", -1), ("logging_steps", -1), ("warmup_steps", -1), ("max_grad_norm", -1)}


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if document.kind == "deepspeed":
        for path, wanted in DEEPSPEED.items():
            if (value := number(document.at(*path))) is not None and not fits(value, wanted):
                yield _wrong(path, value, wanted)
        return
    for name, wanted in RANGES.items():
        key = document.name(name)
        value = number(document.settings.get(key))
        if (
            value is None
            or fits(value, wanted)
            or ((name, value) in _OFF and document.kind != "llamafactory")
            or (name == "max_length" and document.kind == "llamafactory")
        ):
            continue
        # A script that only evaluates is given 0 epochs; 0 steps to save or evaluate means never.
        if name == "num_train_epochs" and ((document.number("max_steps") or 0) > 0 or document.role == "script"):
            continue
        if name == "val_size" and value > 1 and value != int(value):
            continue
        yield _wrong((key,), value, wanted)


def fits(value: float, wanted: str) -> bool:
    return {
        POSITIVE: value > 0,
        NOT_NEGATIVE: value >= 0,
        SHARE: 0 <= value <= 1,
        BELOW_ONE: 0 <= value < 1,
        ONE_OR_MORE: value >= 1,
    }[wanted]


def _wrong(path: tuple[str, ...], value: float, wanted: str) -> Wrong:
    shown = int(value) if value == int(value) else value
    return Wrong(says=say("`{key}` is {value}: it must be {wanted}", key=".".join(path), value=shown, wanted=wanted), at=path,
                 instead=say("{key}: a number {wanted}", key=path[-1], wanted=wanted))  # fmt: skip


RULE = Rule(
    id="TR207",
    name="out-of-range",
    level="error",
    status="stable",
    check=check,
    applies="llamafactory trl axolotl trainer deepspeed accelerate",
    effect="experiment",
    what="A number outside the range in which it means anything: rank 0, a negative length, a dropout of 1.",
    why="The parsers check no ranges: `lora_rank: 0` and `cutoff_len: -5` pass, and fail minutes later or train nothing.",
    source=Source(
        kind="measured",
        ref="llamafactory 0.9.5 get_train_args accepts lora_rank=0, cutoff_len=-5, per_device_train_batch_size=0; transformers 5.24.0 accepts gradient_accumulation_steps=0",
    ),
    fires="== r.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nlora_rank: 0\n",
    quiet="== r.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nlora_rank: 8\n",
)
