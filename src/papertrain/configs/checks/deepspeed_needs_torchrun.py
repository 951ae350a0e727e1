"""LLaMA-Factory with DeepSpeed on one card, without FORCE_TORCHRUN."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, swap
from papertrain.configs.checking.world import World
from papertrain.configs.checks._launch import LLAMAFACTORY, commands
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    for command in commands(document):
        if command.program not in LLAMAFACTORY or command.verb != "train" or "FORCE_TORCHRUN" in command.env:
            continue
        configs = [d for w in command.positional if (path := world.place(document, w.text)) for d in world.read(path)]
        asked = any(d.kind == "llamafactory" and d.settings.get("deepspeed") for d in configs) or any(
            a.name == "deepspeed" for a in command.arguments
        )
        visible = command.env.get("CUDA_VISIBLE_DEVICES")
        one = world.world_size == 1 or (visible is not None and "," not in visible[0] and "$" not in visible[0])
        several = "NNODES" in command.env
        if (asked and one) or several:
            why = (
                say("the file asks for DeepSpeed and one card is visible")
                if asked and one
                else say("`NNODES` is read only when torchrun is started, which one visible card does not do")
            )
            yield Wrong(says=say("`FORCE_TORCHRUN=1` is missing: {why}", why=why), line=command.line, instead=f"FORCE_TORCHRUN=1 {command.program} train",
                        edits=(swap(command.line, command.program, f"FORCE_TORCHRUN=1 {command.program}"),), level="error" if asked and one else "note")  # fmt: skip


RULE = Rule(
    id="TR407",
    name="deepspeed-needs-torchrun",
    level="error",
    status="stable",
    check=check,
    applies="command slurm",
    what="A DeepSpeed run of LLaMA-Factory that would start without torchrun.",
    why="With one visible card the launcher starts no torchrun: `Please use FORCE_TORCHRUN=1 to launch DeepSpeed training.`",
    source=Source(kind="measured", ref="llamafactory 0.9.5 launcher.py and hparams/parser.py"),
    fires='== run.sh\nCUDA_VISIBLE_DEVICES=0 llamafactory-cli train sft.yaml\n== sft.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\ndeepspeed: z2.json\n== z2.json\n{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}\n',
    quiet='== run.sh\nCUDA_VISIBLE_DEVICES=0 FORCE_TORCHRUN=1 llamafactory-cli train sft.yaml\n== sft.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\ndeepspeed: z2.json\n== z2.json\n{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 2}}\n',
)
