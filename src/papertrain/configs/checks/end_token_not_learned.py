"""Answers that end without an end token, or with one on which no loss is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from papertrain.configs.checking.document import ConfigDocument, Wrong, set_to
from papertrain.configs.checking.world import World
from papertrain.configs.checks.wrong_template import template_of
from papertrain.core.errors import PapertrainError
from papertrain.core.files import read_text
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source
from papertrain.facts.config import read_json
from papertrain.facts.frameworks.load import slot_templates

_PAD = re.compile(r"^[^#\n]*\.(pad_token|pad_token_id)\s*=\s*[\w.]*\.(eos_token|eos_token_id)\b", re.MULTILINE)
_COLLATOR = re.compile(r"\bDataCollatorForLanguageModeling\s*\(")
_LIMIT_BYTES = 64_000_000


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if document.format == "python":
        yield from _masked_with_the_padding(document)
    elif document.trains and document.kind == "llamafactory":
        yield from _by_slots(document, world)
    elif document.trains and document.kind in ("trl", "axolotl"):
        yield from _by_the_models_own(document, world)


def _masked_with_the_padding(document: ConfigDocument) -> Iterator[Wrong]:
    """This collator takes every pad token out of the labels: the end token too where the two are one."""
    pad, collator = _PAD.search(document.text), _COLLATOR.search(document.text)
    if pad is None or collator is None:
        return
    yield Wrong(
        says=say("the pad token is the end token, and DataCollatorForLanguageModeling takes all pad tokens out of the loss: the model never learns to stop"),
        line=document.text.count("\n", 0, pad.start()) + 1,
        instead=say("a pad token of its own: tokenizer.pad_token = tokenizer.unk_token, or add_special_tokens with '<|pad|>'"),
    )  # fmt: skip


def _by_slots(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    used = document.settings.get("template")
    table = slot_templates().get(str(used))
    if table is None or document.settings.get("stage", "sft") not in ("sft", "dpo", "kto") or _ends(table):
        return
    model = document.get("model_name_or_path") or world.model
    right = template_of(model) if isinstance(model, str) else None
    yield Wrong(
        says=say("template `{used}` puts nothing after an answer: no end token is learned, and the model will not stop", used=used),
        at=("template",), instead=f"template: {right or 'default'}", edits=(set_to("template", value=right or "default"),), effect="experiment",
    )  # fmt: skip


def _ends(table: dict[str, Any]) -> bool:
    """A token, an end slot, or at least some text stands behind the answer, at any place."""
    slots = table["assistant"]
    at = next((i for i, s in enumerate(slots) if isinstance(s, str) and "{{content}}" in s), 0)
    text = str(slots[at]).partition("{{content}}")[2] + "".join(s for s in slots[at + 1 :] if isinstance(s, str))
    return bool(table.get("efficient_eos")) or not all(isinstance(s, str) for s in slots[at:]) or bool(text.strip())


def _by_the_models_own(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    """The template that the model's folder holds never writes one of its end tokens."""
    named = document.get("model_name_or_path") or document.get("base_model")
    folder = world.place(document, named) if isinstance(named, str) else None
    if folder is None or not folder.is_dir():
        return
    try:
        template, ends = _template(folder), _end_tokens(folder)
    except (PapertrainError, OSError, AttributeError, TypeError):
        return
    if template is None or not ends or "eos_token" in template or any(e in template for e in ends):
        return
    key = "model_name_or_path" if "model_name_or_path" in document.settings else "base_model"
    yield Wrong(
        says=say("the chat template of {model} writes none of its end tokens ({ends}): no end is learned, and the model will not stop", model=folder.name, ends=", ".join(sorted(ends))),
        at=(key,), instead=say("a template that ends every answer with {end}", end=min(ends)),
    )  # fmt: skip


def _template(folder: Path) -> str | None:
    file = folder / "chat_template.jinja"
    if file.is_file() and file.stat().st_size < _LIMIT_BYTES:
        return read_text(file)
    config = folder / "tokenizer_config.json"
    found = read_json(config, limit=_LIMIT_BYTES).get("chat_template") if config.is_file() else None
    return found if isinstance(found, str) else None


def _end_tokens(folder: Path) -> set[str]:
    """The tokenizer's end token, and those at which generation stops."""
    table = read_json(folder / "tokenizer_config.json", limit=_LIMIT_BYTES)
    eos = table.get("eos_token")
    found = {eos.get("content") if isinstance(eos, dict) else eos}
    generation = folder / "generation_config.json"
    if generation.is_file():
        ids = read_json(generation).get("eos_token_id")
        added = table.get("added_tokens_decoder") or {}
        found |= {added.get(str(i), {}).get("content") for i in (ids if isinstance(ids, list) else [ids])}
    return {t for t in found if isinstance(t, str) and t}


RULE = Rule(
    id="TR361",
    name="end-token-not-learned",
    level="warning",
    status="stable",
    check=check,
    applies="llamafactory trl axolotl trainer python",
    what="Nothing that ends an answer carries loss: no end token in the template, or one that the collator masks as padding.",
    why="A model that never sees an answer end goes on until the length limit: endless, repeated answers.",
    source=Source(
        kind="code",
        ref="transformers 5.24 data_collator.py: labels[labels == self.tokenizer.pad_token_id] = -100; LLaMA-Factory 0.9.5 data/template.py: the `empty` template",
    ),
    fires="== train.yaml\nmodel_name_or_path: Qwen/Qwen2.5-7B\nstage: sft\ndo_train: true\nfinetuning_type: lora\ntemplate: empty\ndataset: identity\noutput_dir: out\n",
    quiet="== train.yaml\nmodel_name_or_path: Qwen/Qwen2.5-7B\nstage: sft\ndo_train: true\nfinetuning_type: lora\ntemplate: qwen\ndataset: identity\noutput_dir: out\n",
)
