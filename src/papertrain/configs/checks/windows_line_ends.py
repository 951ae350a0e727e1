"""A shell script with Windows line ends."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong
from papertrain.configs.checking.world import World
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if document.format == "shell" and "\r\n" in document.text and document.kind in ("command", "slurm", "environment"):
        line = document.text.count("\n", 0, document.text.index("\r\n")) + 1
        yield Wrong(
            says=say("the lines end as on Windows: the shell takes the carriage return for part of the last word"),
            line=line,
            instead=f"sed -i 's/\\r$//' {document.file}",
        )


RULE = Rule(
    id="TR410",
    name="windows-line-ends",
    level="error",
    status="stable",
    check=check,
    applies="command slurm environment",
    what="Carriage returns in a shell script.",
    why="`$'\\r': command not found`, or a file name with an invisible character at its end.",
    source=Source(kind="rule", ref="POSIX shell: a carriage return is an ordinary character"),
    fires="== run.sh\nllamafactory-cli train sft.yaml\r\n",
    quiet="== run.sh\nllamafactory-cli train sft.yaml\n",
)
