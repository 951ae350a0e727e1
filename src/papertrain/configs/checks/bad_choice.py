"""A value outside the list of valid ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from papertrain.configs.checking.document import ConfigDocument, Wrong, set_to
from papertrain.configs.checking.world import World
from papertrain.configs.checks._keys import typed
from papertrain.configs.checks._weight import weighs
from papertrain.core.errors import nearest
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source
from papertrain.facts.frameworks.load import Framework

# Lists that no annotation holds. LLaMA-Factory asserts the first, peft and torch know the others.
_MORE: dict[str, dict[str, tuple[Any, ...]]] = {
    "llamafactory": {
        "finetuning_type": ("lora", "oft", "freeze", "full"),
        "rope_scaling": ("linear", "dynamic", "yarn", "llama3"),
        "quantization_bit": (2, 3, 4, 5, 6, 8),
        "train_sampling_strategy": ("random", "sequential", "group_by_length"),
        "log_level": ("debug", "info", "warning", "error", "critical", "passive"),
    },
    "trainer": {"train_sampling_strategy": ("random", "sequential", "group_by_length"), "log_level": ("debug", "info", "warning", "error", "critical", "passive")},
    "trl": {"train_sampling_strategy": ("random", "sequential", "group_by_length")},
    "axolotl": {"adapter": ("lora", "qlora", "llama-adapter")},
    "deepspeed": {},
    "accelerate": {"mixed_precision": ("no", "fp16", "bf16", "fp8")},
}  # fmt: skip
_BNB = (4, 8)
# What accelerate's own questions offer for the keys inside its sections.
_ACCELERATE: dict[tuple[str, str], tuple[Any, ...]] = {
    ("fsdp_config", "fsdp_auto_wrap_policy"): ("TRANSFORMER_BASED_WRAP", "SIZE_BASED_WRAP", "NO_WRAP"),
    ("fsdp_config", "fsdp_state_dict_type"): ("FULL_STATE_DICT", "LOCAL_STATE_DICT", "SHARDED_STATE_DICT"),
    ("fsdp_config", "fsdp_sharding_strategy"): (
        "FULL_SHARD",
        "SHARD_GRAD_OP",
        "NO_SHARD",
        "HYBRID_SHARD",
        "HYBRID_SHARD_ZERO2",
        1,
        2,
        3,
        4,
        5,
    ),
    ("fsdp_config", "fsdp_backward_prefetch"): ("BACKWARD_PRE", "BACKWARD_POST", "NO_PREFETCH"),
    ("fsdp_config", "fsdp_version"): (1, 2),
    ("deepspeed_config", "zero_stage"): (0, 1, 2, 3),
    ("deepspeed_config", "offload_optimizer_device"): ("none", "cpu", "nvme"),
    ("deepspeed_config", "offload_param_device"): ("none", "cpu", "nvme"),
}
# Keys whose list is open: a plug-in, a backend of torch or a hub name may add to it.
_OPEN = {"optimizer", "attn_implementation", "chat_template", "torch_compile_backend", "optim_target_modules", "trackio_static_space_id", "bf16", "tf32", "gradient_checkpointing", "debug", "fsdp", "image_resize_algorithm", "hub_strategy"}  # fmt: skip


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if document.role == "v1":
        return
    more = _MORE[document.kind]
    for path, value, key in typed(document, world):
        choices = more.get(str(path[-1]), key.choices) if len(path) == 1 else key.choices
        if path == ("quantization_bit",) and document.get("quantization_method", "bnb") == "bnb":
            choices = _BNB
        if not choices or (path[-1] in _OPEN) or not isinstance(value, (str, int, float)) or isinstance(value, bool):
            continue
        if value in choices or (
            isinstance(value, str) and ("$" in value or (value == "auto" and document.kind == "deepspeed"))
        ):
            continue
        if isinstance(value, str) and (
            (value.lower() in [str(c).lower() for c in choices] and document.kind in ("axolotl", "accelerate", "trl"))
            or _number_of(value, choices)
        ):
            continue
        yield _wrong(document, path, value, choices)
    if document.kind == "accelerate":
        for path, allowed in _ACCELERATE.items():
            value = document.at(*path)
            if (
                isinstance(value, (str, int))
                and not isinstance(value, bool)
                and str(value).upper() not in [str(c).upper() for c in allowed]
            ):
                yield _wrong(document, path, value, allowed)
    if document.kind == "deepspeed":
        yield from _deepspeed(document, world.framework(document))


def _number_of(value: str, choices: tuple[Any, ...]) -> bool:
    return value.isdigit() and int(value) in choices


def _wrong(document: ConfigDocument, path: tuple[str | int, ...], value: Any, choices: tuple[Any, ...]) -> Wrong:
    # A slip of one letter in a word is surely that word; anything else is a choice between values.
    guess = nearest(str(value), [str(c) for c in choices], cutoff=0.6)
    slip = isinstance(value, str) and nearest(value, [str(c) for c in choices], cutoff=0.85) is not None
    listed = ", ".join(map(str, choices[:14])) + (
        say(" and {n} more", n=len(choices) - 14) if len(choices) > 14 else ""
    )
    if guess and len(choices) > 14:
        listed = f"{guess}, " + listed
    better = next((c for c in choices if str(c) == guess), None)
    return Wrong(
        says=say(
            "`{key}` is {value!r}, which is none of: {listed}", key=".".join(map(str, path)), value=value, listed=listed
        ),
        at=path,
        instead=document.shown(str(path[-1]), better) if better is not None else say("one of: {listed}", listed=listed),
        edits=(set_to(*path, value=better),) if better is not None else (),
        effect=None if slip or not weighs(str(path[-1])) else "experiment",
    )


def _deepspeed(document: ConfigDocument, known: Framework) -> Iterator[Wrong]:
    """DeepSpeed accepts any optimizer and scheduler name while it parses, and fails when it builds them."""
    for section, table in (("optimizer", "optimizers"), ("scheduler", "schedulers")):
        kind = document.at(section, "type")
        names = {n.lower(): n for n in known.more[table]} | (
            {"onebitadam": "OneBitAdam", "zerooneadam": "ZeroOneAdam", "onebitlamb": "OneBitLamb", "sgd": "SGD"}
            if section == "optimizer"
            else {}
        )
        if isinstance(kind, str) and kind != "auto" and kind.lower() not in names and kind not in names.values():
            if section == "optimizer" and document.settings.get("zero_allow_untested_optimizer") is True:
                continue
            yield _wrong(document, (section, "type"), kind, tuple(names.values()))
        elif isinstance(document.settings.get(section), dict) and kind is None:
            yield Wrong(
                says=say("`{section}` has no `type`: DeepSpeed would ignore it", section=section),
                at=(section,),
                instead=f'"type": "{next(iter(names.values()))}"',
            )


RULE = Rule(
    id="TR206",
    name="bad-choice",
    level="error",
    status="stable",
    check=check,
    applies="llamafactory trl axolotl trainer deepspeed accelerate",
    what="A value that is none of the valid ones.",
    why="LLaMA-Factory accepts `stage: foo` from a YAML file and fails after the model is loaded; DeepSpeed accepts any optimizer name.",
    source=Source(
        kind="measured",
        ref="llamafactory 0.9.5 get_train_args(dict) accepts stage=foo, pref_loss=zzz, flash_attn=xx; enums and Literals of the frameworks on record",
    ),
    fires="== st.yaml\nstage: foo\nmodel_name_or_path: m\ntemplate: qwen\nfinetuning_type: lora\n",
    quiet="== st.yaml\nstage: sft\nmodel_name_or_path: m\ntemplate: qwen\nfinetuning_type: lora\n",
)
