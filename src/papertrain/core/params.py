"""How a verb's signature says what its parameters mean. Command line, tool schemas and forms are derived from it."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from papertrain.core.values import Mode, Value


class Arg(Value, frozen=True):
    """The help of one parameter. `name` replaces the option's name, `short` adds `-x`, `metavar` names the value."""

    help: str
    metavar: str | None = None
    choices: tuple[str, ...] | None = None
    short: str | None = None
    name: str | None = None
    advanced: bool = False


class Parameter(Value, frozen=True, kw_only=True):
    """One parameter of a verb, as a face needs it. `kind` is the plain type; `many` means repeatable."""

    name: str
    option: str | None
    kind: type
    many: bool
    optional: bool
    required: bool
    default: Any
    arg: Arg
    choices: tuple[str, ...] | None


ModeArg = Annotated[
    Mode | None, Arg("how strict to be: a question, one run today, or work for a paper (default: by the place)")
]
OverwriteArg = Annotated[bool, Arg("replace files that a person edited")]
DryRunArg = Annotated[bool, Arg("show exactly what would be written or run, and do nothing")]
EnvArg = Annotated[
    str | None, Arg("the training environment whose versions count: a venv or conda folder, or auto", "PATH|auto")
]
OutArg = Annotated[Path | None, Arg("where to write; nothing is written without it", "DIR", short="o", name="output")]


def parameters(verb: Callable[..., Any]) -> list[Parameter]:
    """The parameters of a verb, positional ones first. Raises TypeError for an annotation that no face can show."""
    hints = get_type_hints(verb, include_extras=True)
    return [_parameter(p, hints[p.name]) for p in inspect.signature(verb).parameters.values()]


def _parameter(p: inspect.Parameter, hint: Any) -> Parameter:
    arg = Arg("")
    if get_origin(hint) is Annotated:
        hint, *extras = get_args(hint)
        arg = next((x for x in extras if isinstance(x, Arg)), arg)
    hint, optional = _without_none(hint)
    if get_origin(hint) is Annotated:
        hint, *extras = get_args(hint)
        arg = next((x for x in extras if isinstance(x, Arg)), arg)
        hint, also = _without_none(hint)
        optional = optional or also
    many = get_origin(hint) in (Sequence, list, tuple)
    if many:
        hint = get_args(hint)[0]
    choices = arg.choices
    if get_origin(hint) is Literal:
        choices = tuple(map(str, get_args(hint)))
        hint = type(get_args(hint)[0])
    if hint not in (str, int, float, bool, Path):
        raise TypeError(f"{p.name}: no face can show {hint!r}")
    positional = p.kind is not inspect.Parameter.KEYWORD_ONLY
    return Parameter(
        name=p.name,
        option=None if positional else "--" + (arg.name or p.name.rstrip("_")).replace("_", "-"),
        kind=hint,
        many=many,
        optional=optional,
        required=p.default is inspect.Parameter.empty,
        default=None if p.default is inspect.Parameter.empty else p.default,
        arg=arg,
        choices=choices,
    )


def _without_none(hint: Any) -> tuple[Any, bool]:
    if get_origin(hint) in (Union, types.UnionType):
        rest = [a for a in get_args(hint) if a is not type(None)]
        if len(rest) == 1:
            return rest[0], len(rest) < len(get_args(hint))
    return hint, False
