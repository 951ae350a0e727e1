"""A data set that dataset_info.json does not list."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from papertrain.configs.checking.document import ConfigDocument, Wrong, set_to
from papertrain.configs.checking.world import World, datasets
from papertrain.core.errors import nearest
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    path, table = world.registry(document)
    for key in ("dataset", "eval_dataset"):
        for name in datasets(document, key):
            if Path(name).suffix in (".jsonl", ".csv", ".json", ".parquet") and (table is None or name not in table):
                yield Wrong(says=say("`{key}` names the file {name}: it wants a name from dataset_info.json", key=key, name=name), at=(key,),
                            instead=f'dataset_info.json: {{"{Path(name).stem}": {{"file_name": "{Path(name).name}"}}}}, {key}: {Path(name).stem}')  # fmt: skip
            elif table is not None and name not in table:
                near = nearest(name, table)
                only = len(datasets(document, key)) == 1
                yield Wrong(
                    says=say("data set `{name}` is not in {file}", name=name, file=path)
                    + (say(": did you mean `{near}`?", near=near) if near else ""),
                    at=(key,),
                    instead=f"{key}: {near}" if near else say("an entry `{name}` in dataset_info.json", name=name),
                    edits=(set_to(key, value=near),) if near and only else (),
                )


RULE = Rule(
    id="TR308",
    name="dataset-not-registered",
    level="error",
    status="stable",
    check=check,
    applies="llamafactory",
    effect="experiment",
    what="`dataset` or `eval_dataset` names something that dataset_info.json does not list.",
    why="No parser looks: the run stops with `Undefined dataset … in dataset_info.json`.",
    source=Source(
        kind="measured",
        ref="llamafactory 0.9.5: get_train_args accepts dataset=nope; ValueError `Undefined dataset nope in dataset_info.json.` at run",
    ),
    fires='== s.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\ndataset: reviews\ndataset_dir: .\n== dataset_info.json\n{"review": {"hf_hub_url": "x/r"}}\n',
    quiet='== s.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\ndataset: review\ndataset_dir: .\n== dataset_info.json\n{"review": {"hf_hub_url": "x/r"}}\n',
)
