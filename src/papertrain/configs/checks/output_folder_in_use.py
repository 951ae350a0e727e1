"""An output folder that already holds a run."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong
from papertrain.configs.checking.world import World
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source

WEIGHTS = (
    "adapter_model.safetensors",
    "model.safetensors",
    "pytorch_model.bin",
    "adapter_model.bin",
    "model.safetensors.index.json",
)


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    named = document.settings.get("output_dir")
    if (
        not isinstance(named, str)
        or document.role != "train"
        or document.path is None
        or document.settings.get("resume_from_checkpoint")
    ):
        return
    folder = world.place(document, named)
    if folder is None or not folder.is_dir():
        return
    checkpoints = sorted(
        (p.name for p in folder.glob("checkpoint-*") if p.is_dir()),
        key=lambda n: int(n.rpartition("-")[2]) if n.rpartition("-")[2].isdigit() else 0,
    )
    if checkpoints and document.kind == "llamafactory" and document.settings.get("overwrite_output_dir") is not True:
        yield Wrong(
            says=say(
                "`output_dir` holds {last}: the run resumes there without a word, instead of starting",
                last=checkpoints[-1],
            ),
            at=("output_dir",),
            instead=say("another `output_dir`, or `resume_from_checkpoint` where it is meant"),
        )
    elif (
        not checkpoints
        and document.kind == "llamafactory"
        and any((folder / w).exists() for w in WEIGHTS)
        and document.settings.get("overwrite_output_dir") is not True
    ):
        yield Wrong(
            says=say("`output_dir` holds a finished model: LLaMA-Factory refuses to write there"),
            at=("output_dir",),
            instead=say("another `output_dir`"),
            level="error",
        )


RULE = Rule(
    id="TR352",
    name="output-folder-in-use",
    level="warning",
    status="stable",
    check=check,
    applies="llamafactory",
    effect="experiment",
    what="`output_dir` already holds checkpoints or weights.",
    why="A second run into the same folder resumes from the last checkpoint; with other settings it is a mixture of two runs.",
    source=Source(
        kind="measured",
        ref="llamafactory 0.9.5: a second run resumes; files without a checkpoint give `Output directory already exists and is not empty`",
    ),
    fires="== t.yaml\nstage: sft\ndo_train: true\ntemplate: qwen\nfinetuning_type: lora\nmodel_name_or_path: m\ndataset: identity\noutput_dir: out\n== out/checkpoint-500/trainer_state.json\n{}\n",
    quiet="== t.yaml\nstage: sft\ndo_train: true\ntemplate: qwen\nfinetuning_type: lora\nmodel_name_or_path: m\ndataset: identity\noutput_dir: new\n== out/checkpoint-500/trainer_state.json\n{}\n",
)
