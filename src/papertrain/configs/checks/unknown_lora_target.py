"""LoRA targets that the model does not have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from papertrain.configs.checking.document import ConfigDocument, Wrong, set_to
from papertrain.configs.checking.world import World
from papertrain.core.errors import nearest
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source

LLAMA = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj", "embed_tokens", "lm_head")
# Model families by the beginning of their names, and the layers that their blocks are made of.
FAMILIES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"(meta-)?llama-?[23]|qwen(1\.5|2|2\.5)(?!.*(vl|omni|audio|moe))|mistral-7b|yi-|smollm2|deepseek-(llm|r1-distill)|tinyllama|vicuna|gemma|qwen3-\d+(\.\d+)?b(?!-a)", LLAMA),
    (r"chatglm|glm-4-9b", ("query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h", "output_layer", "word_embeddings")),
    (r"bloom|falcon-[74]", ("query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h", "word_embeddings", "lm_head")),
    (r"phi-3(?!-small)", ("qkv_proj", "o_proj", "gate_up_proj", "down_proj", "embed_tokens", "lm_head")),
    (r"gpt2", ("c_attn", "c_proj", "c_fc", "wte", "lm_head")),
)  # fmt: skip
ALL = {"all", "all-linear", "all_linear"}


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    key = "lora_target" if document.kind == "llamafactory" else "lora_target_modules"
    model = document.get("model_name_or_path") or world.model
    targets = _names(document.settings.get(key))
    known = _layers(model) if isinstance(model, str) else None
    if not targets or known is None:
        return
    for name in targets:
        bare = name.rpartition(".")[2]
        if name in ALL or bare in known or not re.fullmatch(r"[\w.]+", name):
            continue
        near = nearest(bare, known)
        instead = (
            [near if t == name and near else t for t in targets]
            if near
            else ["all"]
            if document.kind == "llamafactory"
            else list(known[:7])
        )
        value: Any = ",".join(instead) if document.kind == "llamafactory" else instead
        yield Wrong(
            says=say(
                "{model} has no layer `{name}`: its layers are {known}",
                model=str(model).rpartition("/")[2],
                name=name,
                known=", ".join(known[:7]),
            ),
            at=(key,),
            instead=document.shown(key, value),
            edits=(set_to(key, value=value),),
        )


def _names(value: Any) -> list[str]:
    if isinstance(value, str):
        return [p.strip() for p in value.split(",") if p.strip()]
    return [str(v) for v in value] if isinstance(value, list) else []


def _layers(model: str) -> tuple[str, ...] | None:
    name = model.rstrip("/").rpartition("/")[2].lower()
    return next((layers for pattern, layers in FAMILIES if re.match(pattern, name)), None)


RULE = Rule(
    id="TR354",
    name="unknown-lora-target",
    level="error",
    status="stable",
    check=check,
    applies="llamafactory axolotl trl",
    effect="experiment",
    what="`lora_target` names layers of another model family.",
    why="The run stops after loading: `Target modules {…} not found in the base model`; where one of several is found, only that one is trained.",
    known_problems="Known families only; a model in a folder of another name is not judged.",
    source=Source(
        kind="measured",
        ref="llamafactory 0.9.5 and peft 0.18.1: `Target modules {'nope'} not found in the base model.`",
    ),
    fires="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nmodel_name_or_path: Qwen/Qwen2.5-7B-Instruct\nlora_target: query_key_value\n",
    quiet="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nmodel_name_or_path: Qwen/Qwen2.5-7B-Instruct\nlora_target: q_proj,v_proj\n",
)
