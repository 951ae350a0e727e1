"""The DeepSpeed file and the trainer that names it state different values."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, number, set_to
from papertrain.configs.checking.world import World
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source

PAIRS: tuple[tuple[tuple[str, ...], str, float], ...] = (
    (("train_micro_batch_size_per_gpu",), "per_device_train_batch_size", 8),
    (("gradient_accumulation_steps",), "gradient_accumulation_steps", 1),
    (("gradient_clipping",), "max_grad_norm", 1.0),
    (("optimizer", "params", "lr"), "learning_rate", 5e-5),
    (("optimizer", "params", "weight_decay"), "weight_decay", 0.0),
    (("scheduler", "params", "warmup_num_steps"), "warmup_steps", 0),
)


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    below = world.deepspeed(document)
    if below is None or document.kind == "axolotl" or document.role in ("override", "export", "chat"):
        return
    for path, key, default in PAIRS:
        theirs = number(below.at(*path))
        ours = document.number(key)
        ours = (
            default
            if ours is None and key not in document.settings and key not in ("learning_rate", "warmup_steps")
            else ours
        )
        if theirs is None or ours is None or theirs == ours:
            continue
        yield Wrong(
            says=say("`{path}` is {theirs:g} in {file}, and `{key}` is {ours:g} here: the Trainer refuses values that disagree; write \"auto\" there", path=".".join(path), theirs=theirs,
                     file=_short(below.file), key=key, ours=ours),
            line=below.line(*path) if below.path != document.path else document.line("deepspeed"),
            within=below if below.path != document.path and below.text else None, at=path if below.path != document.path else ("deepspeed",),
            instead=f'"{path[-1]}": "auto"', edits=(set_to(*path, value="auto"),) if below.path != document.path else (), effect="experiment",
        )  # fmt: skip
    for precision in ("bf16", "fp16"):
        theirs_on, ours_on = below.at(precision, "enabled"), document.settings.get(precision)
        if (
            ours_on is None
            and theirs_on is True
            and document.kind in ("llamafactory", "trainer")
            and document.role not in ("override", "script")
        ):
            ours_on = document.settings.get("pure_bf16") is True and precision == "bf16"
        if isinstance(theirs_on, bool) and isinstance(ours_on, bool) and theirs_on != ours_on:
            yield Wrong(says=say("`{p}` is {a} in {file} and {b} here: the Trainer refuses values that disagree; write \"auto\" there", p=precision, a=str(theirs_on).lower(), file=_short(below.file), b=str(ours_on).lower()),
                        within=below if below.path != document.path and below.text else None, at=(precision, "enabled") if below.path != document.path else ("deepspeed",), instead='"enabled": "auto"',
                        edits=(set_to(precision, "enabled", value="auto"),) if below.path != document.path else (), effect="experiment")  # fmt: skip
    if "zero_optimization" not in below.settings:
        yield Wrong(says=say("{file} has no `zero_optimization`: the Trainer needs the section, also for stage 0", file=_short(below.file)), within=below if below.path != document.path else None,
                    instead='"zero_optimization": {"stage": 0}', edits=(set_to("zero_optimization", value={"stage": 0}),) if below.path != document.path else ())  # fmt: skip


def _short(file: str) -> str:
    return file.rpartition("/")[2]


RULE = Rule(
    id="TR337",
    name="deepspeed-disagrees",
    level="error",
    status="stable",
    check=check,
    applies="llamafactory trl trainer",
    what="A value of the DeepSpeed file contradicts the trainer that names it.",
    why="The Trainer stops: `Please correct the following DeepSpeed config values that mismatch TrainingArguments values`.",
    source=Source(kind="measured", ref="transformers 5.24.0 integrations/deepspeed.py, trainer_config_finalize"),
    fires='== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nper_device_train_batch_size: 4\ndeepspeed: z2.json\n== z2.json\n{"train_micro_batch_size_per_gpu": 8, "zero_optimization": {"stage": 2}}\n',
    quiet='== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nper_device_train_batch_size: 4\ndeepspeed: z2.json\n== z2.json\n{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}\n',
)
