"""Options that Axolotl refuses together: one line of the table per refusal of its schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from papertrain.configs.checking.document import ConfigDocument, Edit, Wrong, drop, set_to
from papertrain.configs.checking.world import World
from papertrain.configs.checks._common import unread
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source

Settings = dict[str, Any]
Row = tuple[Callable[[Settings], Any], str, str, Callable[[], tuple[Edit, ...]]]


def _drop(key: str) -> Callable[[], tuple[Edit, ...]]:
    return lambda: (drop(key),)


def _set(key: str, value: Any) -> Callable[[], tuple[Edit, ...]]:
    return lambda: (set_to(key, value=value),)


def _none() -> tuple[Edit, ...]:
    return ()


def _streams(s: Settings) -> bool:
    return bool(s.get("pretraining_dataset") or s.get("streaming"))


WITHOUT_DATA = (
    "cut_cross_entropy",
    "liger",
    "spectrum",
    "lm_eval",
    "llm_compressor",
    "grokfast",
    "kernels",
    "kd",
    "densemixer",
    "swanlab",
)


def _brings_data(s: Settings) -> bool:
    """Whether a plugin may be where the examples come from, as the environments of NeMo Gym are."""
    named = s.get("plugins")
    return any(not any(known in str(p) for known in WITHOUT_DATA) for p in (named if isinstance(named, list) else []))


# (when, the key to blame, what to say, how to mend it)
TABLE: tuple[Row, ...] = (
    (lambda s: s.get("datasets") is None and s.get("pretraining_dataset") is None and not _brings_data(s), "base_model", "neither `datasets` nor `pretraining_dataset` is given", _none),
    (lambda s: s.get("adapter") == "qlora" and s.get("load_in_8bit") is True, "load_in_8bit", "`adapter: qlora` cannot load in 8 bits", _drop("load_in_8bit")),
    (lambda s: s.get("adapter") == "qlora" and s.get("load_in_4bit") is not True and not s.get("gptq"), "adapter", "`adapter: qlora` needs `load_in_4bit: true`", _set("load_in_4bit", True)),
    (lambda s: s.get("gradient_accumulation_steps") and s.get("batch_size"), "batch_size", "`batch_size` and `gradient_accumulation_steps` say the same: only one of them", _drop("batch_size")),
    (lambda s: s.get("warmup_steps") and s.get("warmup_ratio"), "warmup_ratio", "`warmup_steps` and `warmup_ratio` exclude each other", _drop("warmup_ratio")),
    (lambda s: s.get("save_steps") and s.get("saves_per_epoch"), "saves_per_epoch", "`save_steps` and `saves_per_epoch` exclude each other", _drop("saves_per_epoch")),
    (lambda s: s.get("save_steps") and s.get("save_strategy") not in (None, False, "steps"), "save_strategy", "`save_steps` needs `save_strategy: steps`", _set("save_strategy", "steps")),
    (lambda s: s.get("eval_steps") and s.get("evals_per_epoch"), "evals_per_epoch", "`eval_steps` and `evals_per_epoch` exclude each other", _drop("evals_per_epoch")),
    (lambda s: s.get("eval_steps") and s.get("eval_strategy") not in (None, False, "steps"), "eval_strategy", "`eval_steps` needs `eval_strategy: steps`", _set("eval_strategy", "steps")),
    (lambda s: s.get("evals_per_epoch") and s.get("eval_strategy") not in (None, False, "steps"), "eval_strategy", "`evals_per_epoch` needs `eval_strategy` to be empty or steps", _drop("eval_strategy")),
    (lambda s: s.get("val_set_size") == 0 and not isinstance(s.get("val_set_size"), bool) and (s.get("eval_steps") or s.get("eval_strategy") not in (None, False, "no")) and not s.get("test_datasets"), "val_set_size", "an evaluation is asked for, and `val_set_size: 0` leaves nothing to evaluate on", _set("val_set_size", 0.1)),
    (lambda s: s.get("test_datasets") and s.get("val_set_size"), "val_set_size", "`test_datasets` and `val_set_size` exclude each other", _drop("val_set_size")),
    (lambda s: s.get("sample_packing") is True and s.get("rl"), "sample_packing", "`sample_packing` does not work with `rl`", _drop("sample_packing")),
    (lambda s: s.get("rl") == "kto" and s.get("remove_unused_columns") is not False, "rl", "`rl: kto` needs `remove_unused_columns: false`", _set("remove_unused_columns", False)),
    (lambda s: _streams(s) and not s.get("max_steps"), "max_steps", "streamed data have no length: `max_steps` must be given", _none),
    (lambda s: _streams(s) and s.get("val_set_size"), "val_set_size", "streamed data cannot be split by `val_set_size`: name `test_datasets`", _drop("val_set_size")),
    (lambda s: s.get("early_stopping_patience") and not (s.get("save_steps") and s.get("eval_steps")), "early_stopping_patience", "`early_stopping_patience` needs `save_steps` and `eval_steps`", _none),
    (lambda s: s.get("activation_offloading") and not s.get("gradient_checkpointing"), "activation_offloading", "`activation_offloading` needs `gradient_checkpointing`", _set("gradient_checkpointing", True)),
    (lambda s: s.get("chat_template") == "jinja" and not s.get("chat_template_jinja"), "chat_template", "`chat_template: jinja` needs `chat_template_jinja`", _none),
    (lambda s: s.get("lr_groups") and s.get("loraplus_lr_ratio"), "loraplus_lr_ratio", "`lr_groups` and `loraplus_lr_ratio` exclude each other", _drop("loraplus_lr_ratio")),
    (lambda s: s.get("optimizer") == "muon" and s.get("deepspeed"), "optimizer", "the Muon optimizer does not run under DeepSpeed", _none),
)  # fmt: skip


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if document.role == "override":
        return
    # A value that is filled in later, `${STEPS}`, may be empty then.
    certain = {k: v for k, v in document.settings.items() if not unread(v)}
    for when, key, says, mend in TABLE:
        if when(document.settings) and when(certain):
            edits = mend()
            instead = (
                say("remove `{key}`", key=key)
                if edits and edits[0].op == "drop"
                else document.shown(str(edits[0].path[0]), edits[0].value)
                if edits
                else ""
            )
            yield Wrong(
                says=says,
                at=(key,) if key in document.settings else (),
                line=0 if key in document.settings else 1,
                instead=instead,
                edits=edits,
            )


RULE = Rule(
    id="TR327",
    name="axolotl-options",
    level="error",
    status="stable",
    check=check,
    applies="axolotl",
    effect="experiment",
    what="Two Axolotl settings that exclude each other, or one that needs another.",
    why="Axolotl's schema refuses when the config is read; on a cluster that is after the wait in the queue.",
    source=Source(kind="code", ref="axolotl 0.19.0 utils/schemas/validation.py and peft.py"),
    fires="== a.yaml\nbase_model: m\nsequence_len: 512\nmicro_batch_size: 1\ndatasets: [{path: d, type: alpaca}]\nadapter: qlora\nlora_r: 8\n",
    quiet="== a.yaml\nbase_model: m\nsequence_len: 512\nmicro_batch_size: 1\ndatasets: [{path: d, type: alpaca}]\nadapter: qlora\nload_in_4bit: true\nlora_r: 8\n",
)
