"""A value of another type than the key takes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from papertrain.configs.checking.document import ConfigDocument, Place, Wrong, number, set_to
from papertrain.configs.checking.world import World
from papertrain.configs.checks._common import unread
from papertrain.configs.checks._keys import typed
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source
from papertrain.facts.frameworks.load import Key

WORDS = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "text",
    "list": "a list",
    "dict": "a mapping",
}
_NO_LIMIT = re.compile("norm|clip|max|limit")
"""Where infinity says that there is no bound."""
_TRUE, _FALSE = ("true", "yes", "on"), ("false", "no", "off")


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    for path, value, key in typed(document, world):
        if path == ("zero_optimization",) and document.kind == "deepspeed" and isinstance(value, bool):
            if value:
                yield _old_zero(path)
            continue
        if "any" in key.types or value is None or unread(value) or _fits(document, path, value, key):
            continue
        wanted = " or ".join(
            WORDS[t]
            for t in ("int", "float", "bool", "str", "list", "dict")
            if t in key.types and not (t == "int" and "float" in key.types)
        )
        better = _better(value, key)
        name = ".".join(map(str, path))
        shown = repr(value) if isinstance(value, (str, dict, list)) else str(value)
        shown = shown if len(shown) <= 60 else shown[:59] + "…"
        yield Wrong(
            says=say("`{key}` is {shown}, where {wanted} is wanted", key=name, shown=shown, wanted=wanted) + (say(": write {better}", better=better) if better is not None else ""),
            at=path,
            instead=document.shown(str(path[-1]), better) if better is not None else say("{key}: {wanted}", key=path[-1], wanted=wanted),
            edits=(set_to(*path, value=better),) if better is not None else (),
        )  # fmt: skip


def _old_zero(path: Place) -> Wrong:
    return Wrong(
        says=say("`zero_optimization: true` is an old form: DeepSpeed reads stage 1 of it, and the Trainer of transformers stops at it"),
        at=path, instead='"zero_optimization": {"stage": 1}', edits=(set_to(*path, value={"stage": 1}),), level="warning",
    )  # fmt: skip


def _fits(document: ConfigDocument, path: Place, value: Any, key: Key) -> bool:
    types = key.types
    if document.kind == "axolotl" and (isinstance(value, bool) or path == ("warmup_steps",)):
        # pydantic takes false for 0, and a warm-up below 1 for a share of the run in the releases after this record.
        return True
    if isinstance(value, bool):
        # A whole number of 0 or 1 and a truth value are one and the same to every reader here.
        return (
            "bool" in types
            or ("str" in types and document.format == "shell")
            or (value is False and bool(types & {"str", "list"}) and not key.choices)
        )
    if isinstance(value, int):
        return bool(types & {"int", "float", "str"}) or ("bool" in types and value in (0, 1))
    if isinstance(value, float):
        if math.isnan(value) or (math.isinf(value) and not _NO_LIMIT.search(str(path[-1]))):
            return False
        if "int" in types and "float" not in types and "str" not in types:
            # `5e8` in JSON is a float of whole value: DeepSpeed takes it; Python's range() does not.
            return (
                value == value and value == int(value)
                if abs(value) != float("inf") and document.kind == "deepspeed"
                else False
            )
        return bool(types & {"float", "str"})
    if isinstance(value, str):
        return _text_fits(document, path, value, types)
    if isinstance(value, list):
        # The parsers take a list where text is asked for (`lora_target`, `dataset`, `report_to`).
        return bool(types & {"list", "str"})
    return "dict" in types or "str" in types if isinstance(value, dict) else True


def _text_fits(document: ConfigDocument, path: Place, value: str, types: frozenset[str]) -> bool:
    if "str" in types:
        return True
    if value == "auto":
        return document.kind in ("deepspeed", "axolotl") or "dict" in types
    if types & {"list", "dict"} and document.kind != "deepspeed":
        return True
    if document.format == "shell" and "bool" in types and value.lower() in _TRUE + _FALSE:
        return True
    # TRL hands texts of its YAML to argparse, which turns them into numbers: `1e-5` is another rule's business there.
    if document.kind in ("trl", "axolotl", "accelerate") and types & {"int", "float"}:
        return number(value) is not None
    return document.kind in ("axolotl", "accelerate") and "bool" in types and value.lower() in _TRUE + _FALSE + ("no",)


def _better(value: Any, key: Key) -> Any:
    """The value that was surely meant, or None."""
    types = key.types
    if isinstance(value, str):
        low = value.strip().lower()
        if "bool" in types and low in _TRUE + _FALSE:
            return low in _TRUE
        grouped = re.fullmatch(r"\s*[+-]?\d{1,3}(,\d{3})+(\.\d*)?\s*", value)  # `1,5` may be one and a half
        plain = value.replace(",", "") if grouped else value
        found = number(plain.replace("_", "")) if types & {"int", "float"} else None
        if found is not None:
            return int(found) if found == int(found) and ("int" in types) else found if "float" in types else None
        return None
    if isinstance(value, float) and "int" in types and abs(value) < 1e15:
        return int(value) if value == int(value) else None
    if isinstance(value, bool):
        return None
    return str(value) if types & {"str"} and isinstance(value, (int, float)) else None


RULE = Rule(
    id="TR204",
    name="wrong-type",
    level="error",
    status="stable",
    check=check,
    applies="llamafactory trl axolotl trainer deepspeed accelerate",
    what="A value of another type than the key takes: text for a number, a fraction for a whole number.",
    why="LLaMA-Factory checks neither types nor choices of a YAML file: `learning_rate: abc` passes and fails in the optimizer.",
    known_problems="`5e8` is a whole number to DeepSpeed, and passes.",
    source=Source(
        kind="measured",
        ref="119 configurations through llamafactory 0.9.5 get_train_args; deepspeed 0.19.8 DeepSpeedConfig: `valid integer` for 3686.4",
    ),
    fires="== lr.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nlearning_rate: abc\n",
    quiet="== lr.yaml\nstage: sft\ntemplate: qwen\nfinetuning_type: lora\nlearning_rate: 1e-4\n",
)
