"""A learning rate schedule that needs arguments and has none."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, set_to
from papertrain.configs.checking.world import World
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source

NEEDS = {
    "cosine_with_min_lr": "min_lr_rate",
    "cosine_warmup_with_min_lr": "min_lr_rate",
    "warmup_stable_decay": "num_decay_steps",
}
EXAMPLES: dict[str, dict[str, float]] = {"min_lr_rate": {"min_lr_rate": 0.1}}


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    kind = document.settings.get("lr_scheduler_type")
    if not isinstance(kind, str) or kind not in NEEDS or document.settings.get("lr_scheduler_kwargs"):
        return
    need = NEEDS[kind]
    example = EXAMPLES.get(need)
    yield Wrong(says=say("`lr_scheduler_type: {kind}` needs `{need}` in `lr_scheduler_kwargs`: without it the run stops when the schedule is built", kind=kind, need=need),
                at=("lr_scheduler_type",), instead=f"lr_scheduler_kwargs: {{{need}: {example[need] if example else '…'}}}",
                edits=(set_to("lr_scheduler_kwargs", value=example),) if example and document.format == "yaml" else ())  # fmt: skip


RULE = Rule(
    id="TR336",
    name="scheduler-needs-arguments",
    level="error",
    status="stable",
    check=check,
    applies="llamafactory trl trainer",
    effect="experiment",
    what="A schedule whose required argument is missing.",
    why="The arguments pass; the schedule is built after the model is loaded.",
    source=Source(
        kind="measured",
        ref="transformers 5.24.0: TrainingArguments accepts cosine_with_min_lr without kwargs; optimization.py raises `One of min_lr or min_lr_rate should be set`",
    ),
    fires="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nlr_scheduler_type: cosine_with_min_lr\n",
    quiet="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nlr_scheduler_type: cosine_with_min_lr\nlr_scheduler_kwargs: {min_lr_rate: 0.1}\n",
)
