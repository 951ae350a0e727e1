"""A number that YAML 1.1 readers take for text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Wrong, set_to
from papertrain.configs.checking.world import World
from papertrain.configs.checks._keys import typed
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source
from papertrain.core.yaml import dump_scalar

# PyYAML resolves a float only with a dot, and an exponent only with its sign: 1e-5 and 1.0e5 are texts.
_YAML_1_1 = re.compile(
    r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?|[0-9][0-9_]*)"
)


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    if document.format != "yaml":
        return
    for path, value, key in typed(document, world):
        written = document.raw.get(path)
        if (
            written is None
            or not isinstance(value, float)
            or _YAML_1_1.fullmatch(written)
            or not key.types & {"int", "float"}
        ):
            continue
        if "str" in key.types and document.kind == "axolotl":
            continue
        whole = "float" not in key.types
        better = int(value) if whole and value == int(value) else value
        yield Wrong(
            says=say("`{key}: {written}` is text to PyYAML, which needs a dot and a signed exponent: write {better}", key=path[-1], written=written, better=dump_scalar(better)),
            at=path, instead=f"{path[-1]}: {dump_scalar(better)}", edits=(set_to(*path, value=better),),
            level="error" if whole else "warning",
        )  # fmt: skip


RULE = Rule(
    id="TR205",
    name="number-as-text",
    level="warning",
    status="stable",
    check=check,
    applies="trl axolotl accelerate",
    what="A number such as `1e-5` without a dot, in a file that is read with PyYAML.",
    why="YAML 1.1 sees text there; what comes after decides whether it is turned back into a number or fails late.",
    known_problems="LLaMA-Factory reads with OmegaConf, which sees a number: the rule is quiet there.",
    source=Source(
        kind="measured", ref="yaml.safe_load('a: 1e-5') == {'a': '1e-5'} (PyYAML 6); OmegaConf 2.3 gives 1e-05"
    ),
    fires="== sft.yaml\nmodel_name_or_path: m\ndataset_name: d\nuse_peft: true\nlearning_rate: 1e-5\n",
    quiet="== sft.yaml\nmodel_name_or_path: m\ndataset_name: d\nuse_peft: true\nlearning_rate: 1.0e-5\n",
)
