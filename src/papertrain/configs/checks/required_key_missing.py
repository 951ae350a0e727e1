"""A key without which the run cannot start."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong
from papertrain.configs.checking.world import World
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if document.kind == "llamafactory":
        if document.role in ("override", "script", "v1", "megatron"):
            return
        if document.settings.get("do_train") is True and document.settings.get("dataset") is None:
            yield _missing("dataset", "dataset: alpaca_en_demo")
        whole = document.settings.get("do_train") is True or document.role in ("export", "predict")
        if whole and document.settings.get("model_name_or_path") is None:
            yield _missing("model_name_or_path", "model_name_or_path: Qwen/Qwen2.5-7B-Instruct")
        if document.settings.get("do_train") is True and document.settings.get("output_dir") is None:
            yield Wrong(
                says=say("`output_dir` is not given: the run writes to a folder named after its own defaults"),
                line=1,
                instead="output_dir: saves/my-run",
                level="note",
            )
        if document.role == "predict" and document.settings.get("output_dir") is None:
            yield _missing("output_dir", "output_dir: saves/predictions")
    elif document.kind == "axolotl" and document.role != "override" and document.settings.get("base_model") is None:
        yield _missing("base_model", "base_model: NousResearch/Llama-3.2-1B")


def _missing(key: str, example: str) -> Wrong:
    return Wrong(
        says=say("`{key}` is not given, and the run cannot start without it", key=key), line=1, instead=example
    )


RULE = Rule(
    id="TR217",
    name="required-key-missing",
    level="error",
    status="stable",
    check=check,
    applies="llamafactory axolotl",
    effect="experiment",
    what="A required key is missing.",
    why="LLaMA-Factory: `Please provide model_name_or_path.`, `Please specify dataset for training.`",
    source=Source(
        kind="measured",
        ref="llamafactory 0.9.5 get_train_args; axolotl 0.19.0 schemas/model.py: base_model has no default",
    ),
    fires="== t.yaml\nstage: sft\ndo_train: true\ntemplate: qwen\nfinetuning_type: lora\nmodel_name_or_path: m\noutput_dir: o\n",
    quiet="== t.yaml\nstage: sft\ndo_train: true\ntemplate: qwen\nfinetuning_type: lora\nmodel_name_or_path: m\ndataset: identity\noutput_dir: o\n",
)
