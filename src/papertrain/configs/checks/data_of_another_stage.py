"""A data set of another kind than the stage wants."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from papertrain.configs.checking.accounting import local_files
from papertrain.configs.checking.document import ConfigDocument, Wrong
from papertrain.configs.checking.rows import first_columns
from papertrain.configs.checking.world import World, datasets
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if document.kind != "llamafactory":
        yield from _other_trainers(document, world)
        return
    stage = document.settings.get("stage")
    _, table = world.registry(document)
    if (
        not isinstance(stage, str)
        or table is None
        or document.role in ("export", "chat", "evaluate", "override", "script")
    ):
        return
    for key in ("dataset", "eval_dataset"):
        for name in datasets(document, key):
            entry = table.get(name)
            if not isinstance(entry, dict):
                continue
            named = entry.get("columns")
            ranked, columns = entry.get("ranking") is True, named if isinstance(named, dict) else {}
            if stage in ("dpo", "rm") and not ranked:
                yield _wrong(
                    key,
                    say("`{name}` holds no pairs, which `stage: {stage}` compares", name=name, stage=stage),
                    say('"ranking": true with columns chosen and rejected in dataset_info.json'),
                )
            elif stage in ("dpo", "rm") and (why := _pairless(world.data_file(document, name), columns)):
                yield _wrong(
                    key,
                    say("`{name}` is registered as pairs (`ranking`), and {why}", name=name, why=why),
                    say("data with a chosen and a rejected answer for each prompt, or `stage: sft`"),
                )
            elif stage in ("sft", "pt", "kto", "ppo") and ranked:
                yield _wrong(
                    key,
                    say("`{name}` holds pairs (`ranking`), and `stage: {stage}` refuses them", name=name, stage=stage),
                    say("stage: dpo or rm, or another data set"),
                )
            elif stage == "kto" and "kto_tag" not in columns:
                yield _wrong(
                    key,
                    say("`{name}` has no `kto_tag`, which `stage: kto` learns from", name=name),
                    '"columns": {"kto_tag": "label"}',
                )


def _pairless(file: Path | None, columns: dict[str, Any]) -> str:
    """Why a registered data set cannot hold pairs; empty where it may."""
    have = first_columns(file) if file else set()
    named = [columns.get(k) for k in ("chosen", "rejected")]
    if not all(isinstance(c, str) for c in named):
        told = say("; its file holds {have}", have=", ".join(sorted(have)[:8])) if have else ""
        return say("`columns` names no chosen and rejected answers") + told
    lacks = [str(c) for c in named if have and c not in have]
    if not lacks:
        return ""
    return say("its file has no {lacks}: it holds {have}", lacks=", ".join(lacks), have=", ".join(sorted(have)[:8]))


# What a row of an unpaired preference set carries instead.
UNPAIRED = {"label", "labels", "kto_tag", "score", "scores"}


def _other_trainers(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    """TRL and Axolotl read the columns chosen and rejected of a local file as they are."""
    task = document.role if document.kind == "trl" else str(document.settings.get("rl") or "")
    if task not in ("dpo", "reward", "ipo", "simpo", "orpo", "cpo"):
        return
    for named, file in local_files(document, world):
        have = first_columns(file)
        if have and not {"chosen", "rejected"} <= have and not have & UNPAIRED and not _own_names(document):
            key = "datasets" if "datasets" in document.settings else "dataset_name"
            yield _wrong(
                key,
                say("{file} holds no pairs (chosen, rejected), which {task} compares: it holds {have}", file=named, task=task, have=", ".join(sorted(have)[:8])),
                say("data with a chosen and a rejected answer for each prompt, or supervised fine-tuning"),
            )  # fmt: skip


def _own_names(document: ConfigDocument) -> bool:
    """Whether the file says itself under which names the pairs stand."""
    listed = document.settings.get("datasets")
    rows = [r for r in listed if isinstance(r, dict)] if isinstance(listed, list) else []
    return any(k.startswith("field_") and ("chosen" in k or "rejected" in k) for r in rows for k in r) or any(
        isinstance(r.get("type"), dict) for r in rows
    )


def _wrong(key: str, says: str, instead: str) -> Wrong:
    return Wrong(says=says, at=(key,), instead=instead)


RULE = Rule(
    id="TR349",
    name="data-of-another-stage",
    level="error",
    status="stable",
    check=check,
    applies="llamafactory trl axolotl",
    effect="experiment",
    what="The registered form of a data set does not fit the stage.",
    why="LLaMA-Factory stops: `The dataset is not applicable in the current training stage.`",
    source=Source(
        kind="code", ref="llamafactory 0.9.5 data/loader.py, _get_merged_dataset: ranking is compared with the stage"
    ),
    fires='== t.yaml\nstage: dpo\ntemplate: qwen\nfinetuning_type: lora\ndataset: a\ndataset_dir: .\n== dataset_info.json\n{"a": {"hf_hub_url": "x/a"}}\n',
    quiet='== t.yaml\nstage: dpo\ntemplate: qwen\nfinetuning_type: lora\ndataset: a\ndataset_dir: .\n== dataset_info.json\n{"a": {"hf_hub_url": "x/a", "ranking": true, "columns": {"chosen": "c", "rejected": "r"}}}\n',
)
