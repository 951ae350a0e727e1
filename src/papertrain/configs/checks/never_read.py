"""A setting that is accepted and that nothing reads, because another one decides that it does not matter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from papertrain.configs.checking.document import ConfigDocument, Wrong, drop
from papertrain.configs.checking.world import World
from papertrain.configs.checks._common import stage, word
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source

Settings = dict[str, Any]
PREFERENCE = (
    "pref_beta",
    "pref_ftx",
    "pref_loss",
    "dpo_label_smoothing",
    "simpo_gamma",
    "ref_model",
    "ref_model_adapters",
)
PPO = (
    "ppo_buffer_size",
    "ppo_epochs",
    "ppo_score_norm",
    "ppo_target",
    "ppo_whiten_rewards",
    "reward_model",
    "reward_model_adapters",
)
LORA = (
    "lora_rank",
    "lora_alpha",
    "lora_dropout",
    "lora_target",
    "use_rslora",
    "use_dora",
    "pissa_init",
    "additional_target",
    "create_new_adapter",
)
FREEZE = ("freeze_trainable_layers", "freeze_trainable_modules", "freeze_extra_modules")
QUANTISED = ("quantization_type", "double_quantization", "quantization_method")


def _given(document: ConfigDocument, *keys: str) -> list[str]:
    return [k for k in keys if document.settings.get(k) not in (None, False)]


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if document.role in ("override", "script", "chat", "export", "evaluate", "v1", "megatron"):
        return
    rows = (
        _llamafactory(document)
        if document.kind == "llamafactory"
        else _deepspeed(document)
        if document.kind == "deepspeed"
        else []
    )
    for path, why in [*rows, *(_trainer(document) if document.kind != "deepspeed" else [])]:
        yield Wrong(
            says=say("`{key}` is accepted and never read: {why}", key=".".join(path), why=why),
            at=path,
            instead=say("remove `{key}`", key=path[-1]),
            edits=(drop(*path),),
        )


def _llamafactory(document: ConfigDocument) -> list[tuple[tuple[str, ...], str]]:
    kind, trained = str(document.settings.get("stage", "sft")), str(document.settings.get("finetuning_type", "lora"))
    found: list[tuple[tuple[str, ...], str]] = []
    if trained in ("full", "freeze"):
        found += [((k,), say("`finetuning_type` is {kind}", kind=trained)) for k in _given(document, *LORA)]
    if trained != "freeze":
        found += [((k,), say("`finetuning_type` is {kind}", kind=trained)) for k in _given(document, *FREEZE)]
    if kind in ("pt", "sft", "rm"):
        found += [((k,), say("`stage` is {kind}", kind=kind)) for k in _given(document, *PREFERENCE)]
    if kind in ("pt", "sft", "rm", "dpo", "kto"):
        found += [((k,), say("`stage` is {kind}", kind=kind)) for k in _given(document, *PPO)]
    if not document.settings.get("quantization_bit"):
        found += [((k,), say("no `quantization_bit` is given")) for k in _given(document, *QUANTISED)]
    if document.settings.get("streaming") is not True:
        found += [((k,), say("`streaming` is off")) for k in _given(document, "buffer_size")]
    return found


def _trainer(document: ConfigDocument) -> list[tuple[tuple[str, ...], str]]:
    found: list[tuple[tuple[str, ...], str]] = []
    rows: tuple[tuple[str, Callable[[], bool], str], ...] = (
        ("save_steps", lambda: word(document, "save_strategy", "steps") in ("epoch", "no"), say("`save_strategy` is not steps")),
        ("warmup_ratio", lambda: (document.number("warmup_steps") or 0) > 0, say("`warmup_steps` is given too and wins")),
        ("num_train_epochs", lambda: (document.number("max_steps") or 0) > 0 and document.kind != "axolotl", say("`max_steps` is given and wins")),
        ("metric_for_best_model", lambda: not document.flag("load_best_model_at_end") and word(document, "lr_scheduler_type", "") != "reduce_lr_on_plateau" and not document.has("early_stopping_steps"), say("`load_best_model_at_end` is off")),
        ("gradient_checkpointing_kwargs", lambda: document.settings.get("gradient_checkpointing") is False, say("`gradient_checkpointing` is off")),
    )  # fmt: skip
    for key, dead, why in rows:
        if document.settings.get(key) is not None and document.kind != "axolotl" and dead():
            found.append(((key,), why))
    return found


def _deepspeed(document: ConfigDocument) -> list[tuple[tuple[str, ...], str]]:
    zero, now = document.settings.get("zero_optimization"), stage(document)
    if not isinstance(zero, dict) or now is None or now == 3:
        return []
    return [
        (("zero_optimization", k), say("it belongs to stage 3, and the stage is {n}", n=now))
        for k in zero
        if k.startswith("stage3_") or k == "sub_group_size"
    ]


RULE = Rule(
    id="TR208",
    name="never-read",
    level="note",
    status="stable",
    check=check,
    applies="llamafactory trl trainer deepspeed",
    what="A setting without effect: another one switches off the part that would read it.",
    why="Who reads the file, and the paper that cites it, believes that it counted.",
    source=Source(
        kind="code",
        ref="llamafactory 0.9.5 hparams/finetuning_args.py and train/; transformers 5.24.0 training_args.py get_warmup_steps; deepspeed 0.19.8 runtime/zero",
    ),
    fires="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: full\nlora_rank: 8\n",
    quiet="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nlora_rank: 8\n",
)
