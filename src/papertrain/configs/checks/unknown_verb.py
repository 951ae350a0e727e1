"""A verb that the program does not have."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, swap
from papertrain.configs.checking.world import World
from papertrain.configs.checks._launch import LLAMAFACTORY, VERBS, commands
from papertrain.core.errors import nearest
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source
from papertrain.facts.frameworks.load import framework

TRL = ("dpo", "env", "grpo", "kto", "reward", "rloo", "sft", "vllm-serve", "skills")
AXOLOTL = (
    "train",
    "preprocess",
    "evaluate",
    "inference",
    "merge-lora",
    "merge-sharded-fsdp-weights",
    "fetch",
    "quantize",
    "vllm-serve",
    "lm-eval",
    "delinearize-llama4",
    "config-schema",
    "agent-docs",
    "cloud",
)


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    for command in commands(document):
        verbs = VERBS if command.program in LLAMAFACTORY else {"trl": TRL, "axolotl": AXOLOTL}.get(command.program)
        if (
            verbs is None
            or not command.verb
            or command.verb in verbs
            or "$" in command.verb
            or command.verb == "eval"
            or command.verb.startswith("-")
        ):
            continue
        sure = nearest(command.verb, verbs)
        near = sure or "train"
        silent = (
            say("it prints its usage and exits with 0, so that a script goes on")
            if command.program in LLAMAFACTORY
            else say("it stops")
        )
        yield Wrong(says=say("`{program} {verb}` does not exist: {silent}; write `{program} {near}`", program=command.program, verb=command.verb, silent=silent, near=near), line=command.line,
                    instead=f"{command.program} {near}", edits=(swap(command.line, f"{command.program} {command.verb}", f"{command.program} {near}"),) if sure else ())  # fmt: skip


RULE = Rule(
    id="TR403",
    name="unknown-verb",
    level="error",
    status="stable",
    check=check,
    applies="command slurm",
    what="The first word after the program is none of its verbs.",
    why="`llamafactory-cli` prints `Unknown command` and exits with 0: a job that did nothing looks successful.",
    source=Source(
        kind="code",
        ref=f"llamafactory {framework('llamafactory').version} launcher.py; trl 1.16.0 cli; axolotl 0.19.0 cli",
    ),
    fires="== run.sh\nllamafactory-cli trian sft.yaml\n",
    quiet="== run.sh\nllamafactory-cli train sft.yaml\n",
)
