"""fp16 and bf16 at once."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, drop, set_to
from papertrain.configs.checking.world import World
from papertrain.configs.checks._launch import commands
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    for command in commands(document):
        asked, line = command.options.get("mixed_precision", ("", 0))
        flags = {a.name: a.value for a in command.arguments if a.name in ("fp16", "bf16")}
        on = [k for k, v in flags.items() if v is True or str(v).lower() in ("true", "1", "yes")]
        if asked in ("fp16", "bf16") and on and asked not in on:
            yield Wrong(says=say("`--mixed_precision {a}` and `--{b}` contradict each other: the script's own option wins over the launcher's", a=asked, b=on[0]),
                        line=line, instead=say("one precision in both places"), level="warning")  # fmt: skip
    if document.kind in ("command", "slurm"):
        return
    if document.kind == "deepspeed":
        if document.at("fp16", "enabled") is True and document.at("bf16", "enabled") is True:
            yield Wrong(says=say("`fp16` and `bf16` are both enabled: DeepSpeed refuses"), at=("fp16", "enabled"), instead='"fp16": {"enabled": false}',
                        edits=(set_to("fp16", "enabled", value=False),))  # fmt: skip
    elif (document.flag("fp16") and document.flag("bf16") and document.kind != "axolotl") or (
        document.kind == "axolotl" and document.settings.get("fp16") is True and document.settings.get("bf16") is True
    ):
        yield Wrong(
            says=say("`fp16` and `bf16` are both on: at most one can be"),
            at=("fp16",),
            instead=say("remove `fp16`"),
            edits=(drop("fp16"),),
        )


RULE = Rule(
    id="TR303",
    name="two-precisions",
    level="error",
    status="stable",
    check=check,
    applies="command slurm llamafactory trl axolotl trainer deepspeed",
    effect="experiment",
    what="fp16 and bf16 are both asked for.",
    why="The Trainer and DeepSpeed both refuse.",
    source=Source(
        kind="measured",
        ref="llamafactory 0.9.5: `At most one of fp16 and bf16 can be True, but not both`; deepspeed 0.19.8: `bfloat16 and fp16 modes cannot be simultaneously enabled`",
    ),
    fires="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nbf16: true\nfp16: true\n",
    quiet="== t.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nbf16: true\nfp16: false\n",
)
