"""Gradient checkpointing with adapters, and inputs that carry no gradient."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, set_to
from papertrain.configs.checking.world import World
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source

MENDS = ("enable_input_require_grads", "prepare_model_for_kbit_training", "use_reentrant")


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if document.format != "python" or document.settings.get("gradient_checkpointing") is not True:
        return
    if "get_peft_model(" not in document.text or any(m in document.text for m in MENDS):
        return
    yield Wrong(
        says=say("checkpointing with adapters: the inputs of the frozen layers carry no gradient, and the loss has none either"), at=("gradient_checkpointing",),
        instead="gradient_checkpointing_kwargs={'use_reentrant': False}", edits=(set_to("gradient_checkpointing_kwargs", value={"use_reentrant": False}),),
    )  # fmt: skip


RULE = Rule(
    id="TR334",
    name="checkpointing-without-gradients",
    level="warning",
    status="stable",
    check=check,
    applies="trainer",
    what="`gradient_checkpointing` on a model that was wrapped by `get_peft_model`, in the reentrant form.",
    why="`element 0 of tensors does not require grad`, or in older versions a loss that never moves.",
    known_problems="Newer transformers and TRL mend it themselves in some paths.",
    source=Source(
        kind="code",
        ref="transformers 5.24.0 modeling_utils.py, gradient_checkpointing_enable; trl 1.16.0 sft_trainer.py, the same remark",
    ),
    fires="== train.py\nmodel = get_peft_model(model, LoraConfig())\nargs = TrainingArguments(output_dir='o', gradient_checkpointing=True)\n",
    quiet="== train.py\nmodel = get_peft_model(model, LoraConfig())\nargs = TrainingArguments(output_dir='o', gradient_checkpointing=True, gradient_checkpointing_kwargs={'use_reentrant': False})\n",
)
