"""A data set of another kind than the stage wants."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong
from papertrain.configs.checking.world import World, datasets
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
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


def _wrong(key: str, says: str, instead: str) -> Wrong:
    return Wrong(says=says, at=(key,), instead=instead)


RULE = Rule(
    id="TR349",
    name="data-of-another-stage",
    level="error",
    status="stable",
    check=check,
    applies="llamafactory",
    effect="experiment",
    what="The registered form of a data set does not fit the stage.",
    why="LLaMA-Factory stops: `The dataset is not applicable in the current training stage.`",
    source=Source(
        kind="code", ref="llamafactory 0.9.5 data/loader.py, _get_merged_dataset: ranking is compared with the stage"
    ),
    fires='== t.yaml\nstage: dpo\ntemplate: qwen\nfinetuning_type: lora\ndataset: a\ndataset_dir: .\n== dataset_info.json\n{"a": {"hf_hub_url": "x/a"}}\n',
    quiet='== t.yaml\nstage: dpo\ntemplate: qwen\nfinetuning_type: lora\ndataset: a\ndataset_dir: .\n== dataset_info.json\n{"a": {"hf_hub_url": "x/a", "ranking": true, "columns": {"chosen": "c", "rejected": "r"}}}\n',
)
