"""`llamafactory-cli eval`, which newer versions no longer have."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong
from papertrain.configs.checking.world import World
from papertrain.configs.checks._common import older
from papertrain.configs.checks._launch import LLAMAFACTORY, commands
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source
from papertrain.facts.frameworks.load import framework


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    version = world.version("llamafactory")
    if older(version, "0.9.4"):
        return
    shown = version or framework("llamafactory").version
    says = say(
        "`llamafactory-cli eval` is gone in LLaMA-Factory {version} (it raises NotImplementedError): evaluate with `train` and do_eval or do_predict, or with lm-evaluation-harness",
        version=shown,
    )
    if document.kind == "llamafactory":
        if document.role == "evaluate":
            yield Wrong(
                says=says,
                line=document.line("task"),
                level="warning",
                instead=say("`do_eval: true` with `eval_dataset`, or lm_eval --tasks"),
            )
        return
    for command in commands(document):
        if command.program in LLAMAFACTORY and command.verb == "eval":
            yield Wrong(
                says=says,
                line=command.line,
                instead=say("llamafactory-cli train with `do_eval: true`, or lm_eval --tasks"),
            )


RULE = Rule(
    id="TR404",
    name="evaluation-verb-gone",
    level="error",
    status="stable",
    check=check,
    applies="command slurm llamafactory",
    effect="experiment",
    what="A file or command for the evaluation verb that LLaMA-Factory has given up.",
    why="The command raises `Evaluation will be deprecated in the future.`",
    known_problems="Which release in the 0.9 line is the last with a working verb was not measured: 0.9.3 has it, 0.9.5 has not. A file is only warned about.",
    source=Source(kind="measured", ref="llamafactory 0.9.5: `llamafactory-cli eval` raises NotImplementedError"),
    fires="== run.sh\nllamafactory-cli eval eval.yaml\n",
    quiet="== run.sh\nllamafactory-cli train predict.yaml\n",
)
