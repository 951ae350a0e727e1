"""A JSON file given to `llamafactory-cli train`."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong
from papertrain.configs.checking.world import World
from papertrain.configs.checks._common import older
from papertrain.configs.checks._launch import LLAMAFACTORY, commands
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if older(world.version("llamafactory"), "0.9.4"):
        return
    for command in commands(document):
        if command.program in LLAMAFACTORY and command.verb in ("train", "chat", "export", "api"):
            for word in command.positional[:1]:
                if word.text.endswith(".json"):
                    yield Wrong(
                        says=say(
                            "llamafactory-cli cannot read JSON in 0.9.5 (`PosixPath` has no attribute `read`): write the same as YAML"
                        ),
                        line=word.line,
                        instead=word.text.removesuffix(".json") + ".yaml",
                    )


RULE = Rule(
    id="TR412",
    name="json-for-llamafactory",
    level="error",
    status="stable",
    check=check,
    applies="command slurm",
    what="`llamafactory-cli` is given a JSON file.",
    why="The reader for JSON is broken in 0.9.5.",
    source=Source(kind="measured", ref="llamafactory 0.9.5: `llamafactory-cli train x.json` raises AttributeError"),
    fires="== run.sh\nllamafactory-cli train sft.json\n",
    quiet="== run.sh\nllamafactory-cli train sft.yaml\n",
)
