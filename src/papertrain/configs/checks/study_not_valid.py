"""A study.toml that cannot be read as a study."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong
from papertrain.configs.checking.world import World
from papertrain.core.errors import PapertrainError
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source
from papertrain.core.workspace import Workspace


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if document.path is None:
        return
    try:
        _ = Workspace(document.path.parent).study
    except PapertrainError as error:
        hint = say("; did you mean {near}?", near=error.nearest) if error.nearest else ""
        yield Wrong(
            says=error.says + hint,
            line=error.line or 1,
            instead=error.nearest or "; ".join(error.ask) or say("as docs describe a study"),
        )


RULE = Rule(
    id="TR370",
    name="study-not-valid",
    level="error",
    status="stable",
    check=check,
    applies="study",
    effect="experiment",
    what="study.toml names something that a study does not have.",
    why="The grid of runs is read from it: a misspelt key would leave cells out, so every verb stops there.",
    source=Source(kind="rule", ref="core/workspace.py: methods, datasets, seeds, sweeps"),
    fires='== study.toml\n[methodz.ours]\nmodel = "m"\n[datasets.data]\ntrain = "a.jsonl"\n',
    quiet="== study.toml\n[methods.ours]\n[datasets.data]\n",
)
