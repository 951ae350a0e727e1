"""A key that stands twice in one mapping."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong
from papertrain.configs.checking.world import World
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    for problem in document.oddities:
        if problem.code == "duplicate-key":
            yield Wrong(says=problem.says, line=problem.line, instead=say("keep one `{key}`", key=problem.key))


RULE = Rule(
    id="TR203",
    name="duplicate-key",
    level="error",
    status="stable",
    check=check,
    applies="*",
    what="The same key twice in one mapping.",
    why="YAML forbids it, most readers take the last one, and nobody is told which value trains.",
    source=Source(kind="rule", ref="YAML 1.2.2, 3.2.1.1: mapping keys are unique; RFC 8259, section 4"),
    fires="== dup.yaml\nstage: sft\ntemplate: qwen\nlearning_rate: 1.0e-4\nlearning_rate: 1.0e-5\n",
    quiet="== dup.yaml\nstage: sft\ntemplate: qwen\nlearning_rate: 1.0e-4\n",
)
