"""Options that LLaMA-Factory refuses together: one line of the table per refusal of its parser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from papertrain.configs.checking.document import ConfigDocument, Edit, Wrong, drop, set_to
from papertrain.configs.checking.world import World
from papertrain.configs.checks._common import zero_stage
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source

Settings = dict[str, Any]


def _on(settings: Settings, *keys: str) -> str | None:
    return next((k for k in keys if settings.get(k) is True), None)


def _stage(settings: Settings) -> str:
    return str(settings.get("stage", "sft"))


def _method(settings: Settings) -> str:
    return str(settings.get("finetuning_type", "lora"))


# (what is seen: the key to blame or None, what to say, how to mend it)
Row = tuple[Callable[[Settings], str | None], str, Callable[[str], tuple[Edit, ...]]]


def _drop(key: str) -> tuple[Edit, ...]:
    return (drop(key),)


def _none(key: str) -> tuple[Edit, ...]:
    return ()


TABLE: tuple[Row, ...] = (
    (lambda s: _on(s, "neat_packing", "train_on_prompt", "mask_history", "predict_with_generate") if _stage(s) not in ("sft",) else None, "`{key}` belongs to `stage: sft`; this file says another stage", _drop),
    (lambda s: "mask_history" if _on(s, "mask_history") and _on(s, "train_on_prompt") else None, "`mask_history` and `train_on_prompt` contradict each other", _drop),
    (lambda s: "do_predict" if _on(s, "do_predict") and _stage(s) == "sft" and not _on(s, "predict_with_generate") else None, "`do_predict` needs `predict_with_generate: true` to save predictions", lambda k: (set_to("predict_with_generate", value=True),)),
    (lambda s: "compute_accuracy" if _on(s, "compute_accuracy") and _on(s, "predict_with_generate") else None, "`compute_accuracy` and `predict_with_generate` exclude each other", _drop),
    (lambda s: "val_size" if s.get("eval_dataset") is not None and isinstance(s.get("val_size"), (int, float)) and s["val_size"] > 1e-6 else None, "`val_size` and `eval_dataset` are both given: one of them says what is evaluated", _drop),
    (lambda s: "load_best_model_at_end" if _on(s, "load_best_model_at_end") and _stage(s) in ("rm", "ppo") else None, "`load_best_model_at_end` does not exist for the stages rm and ppo", _drop),
    (lambda s: "stage" if _stage(s) == "ppo" and s.get("reward_model") is None and s.get("do_train") is True else None, "`stage: ppo` needs `reward_model`", _none),
    (lambda s: "adapter_name_or_path" if s.get("adapter_name_or_path") is not None and _method(s) != "lora" else None, "`adapter_name_or_path` needs `finetuning_type: lora`", _none),
    (lambda s: "loraplus_lr_ratio" if s.get("loraplus_lr_ratio") is not None and _method(s) != "lora" else None, "`loraplus_lr_ratio` needs `finetuning_type: lora`", _drop),
    (lambda s: next((k for k in ("use_galore", "use_apollo", "use_badam") if s.get(k) is True), None) if _method(s) == "lora" else None, "`{key}` is for full training: with LoRA it is refused", _drop),
    (lambda s: next((k for k in ("use_badam", "use_apollo", "use_galore") if s.get(k) is True), None) if sum(s.get(k) is True for k in ("use_galore", "use_apollo", "use_badam")) > 1 else None, "GaLore, APOLLO and BAdam exclude each other", _drop),
    (lambda s: next((k for k in ("use_galore", "use_apollo") if s.get(k) is True), None) if s.get("deepspeed") and _method(s) != "lora" else None, "`{key}` and DeepSpeed do not go together", _none),
    (lambda s: "dpo_label_smoothing" if isinstance(s.get("dpo_label_smoothing"), (int, float)) and s["dpo_label_smoothing"] > 1e-6 and s.get("pref_loss", "sigmoid") != "sigmoid" else None, "`dpo_label_smoothing` is only for `pref_loss: sigmoid`", _drop),
    (lambda s: "interleave_probs" if s.get("interleave_probs") is not None and s.get("mix_strategy", "concat") == "concat" else None, "`interleave_probs` needs an interleaving `mix_strategy`", _drop),
    (lambda s: "interleave_probs" if isinstance(s.get("interleave_probs"), str) and isinstance(s.get("dataset"), str) and s.get("mix_strategy", "concat") != "concat" and s["interleave_probs"].count(",") != s["dataset"].count(",") else None, "`interleave_probs` must have one number per data set", _none),
    (lambda s: "streaming" if _on(s, "streaming") and isinstance(s.get("val_size"), float) and 0 < s["val_size"] < 1 else None, "with `streaming`, `val_size` must be a whole number of examples", _none),
    (lambda s: "streaming" if _on(s, "streaming") and s.get("do_train") is True and int(s["max_steps"] if isinstance(s.get("max_steps"), int) else -1) <= 0 else None, "with `streaming` the length of the data is unknown: `max_steps` must be given", _none),
    (lambda s: "max_samples" if _on(s, "streaming") and s.get("max_samples") is not None else None, "`max_samples` does not go with `streaming`", _drop),
    (lambda s: "resize_vocab" if s.get("quantization_bit") and _on(s, "resize_vocab") else None, "the embeddings of a quantised model cannot be resized", _drop),
    (lambda s: "pissa_init" if s.get("quantization_bit") and _on(s, "pissa_init") else None, "`pissa_init` needs the unquantised model", _drop),
    (lambda s: "infer_backend" if s.get("infer_backend") in ("vllm", "sglang") and s.get("do_train") is True else None, "vLLM and SGLang are for `chat` and `api`: training refuses `infer_backend`", _drop),
    (lambda s: "fp8" if _on(s, "fp8") and s.get("quantization_bit") else None, "`fp8` and `quantization_bit` exclude each other", _drop),
)  # fmt: skip


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if document.role in ("override", "script"):
        return
    for seen, said, mend in TABLE:
        if (key := seen(document.settings)) is not None and document.role not in ("export",):
            yield Wrong(says=said.format(key=key), at=(key,), instead=_instead(key, mend(key)), edits=mend(key))
    if zero_stage(document, world) == 3:
        for key in ("predict_with_generate", "pure_bf16", "use_unsloth", "pissa_init", "use_kt"):
            if document.settings.get(key) is True:
                yield Wrong(
                    says=say("`{key}` and ZeRO-3 exclude each other", key=key),
                    at=(key,),
                    instead=say("remove `{key}`, or a ZeRO-2 file", key=key),
                )


def _instead(key: str, edits: tuple[Edit, ...]) -> str:
    if not edits:
        return ""
    first = edits[0]
    return say("remove `{key}`", key=key) if first.op == "drop" else f"{first.path[0]}: {str(first.value).lower()}"


RULE = Rule(
    id="TR326",
    name="options-exclude-each-other",
    level="error",
    status="stable",
    check=check,
    applies="llamafactory",
    effect="experiment",
    what="Two settings that LLaMA-Factory's parser refuses together, or one that needs another.",
    why="The run stops when the arguments are read; on a cluster that is after the wait in the queue.",
    source=Source(
        kind="code",
        ref="llamafactory 0.9.5 hparams/parser.py, data_args.py and finetuning_args.py; outcomes of 119 configurations",
    ),
    fires="== t.yaml\nstage: dpo\ntemplate: qwen\nfinetuning_type: lora\nneat_packing: true\n",
    quiet="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nneat_packing: true\n",
)
