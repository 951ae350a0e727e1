"""A verb's signature as JSON schema: what tool servers and forms are derived from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from papertrain.core.params import Parameter, parameters

READING = ("plan", "estimate", "check", "watch", "diagnose", "evaluate", "compare", "explain", "status", "next")
"""The verbs that can be asked without anything being written."""

KINDS = {str: "string", Path: "string", int: "integer", float: "number", bool: "boolean"}

# What acts, writes or asks a network is not offered where only reading is granted.
ACTING = {
    "output", "confirm", "overwrite", "dry_run", "yes", "fix", "notify", "live", "until", "online", "authorize", "passthrough",
    "supervise", "env", "stacks", "interval", "try_", "write_baseline",
}  # fmt: skip

ENVELOPE: dict[str, Any] = {
    "type": "object",
    "required": ["schema", "verb", "mode", "result", "explanation", "data"],
    "properties": {
        "schema": {"type": "string", "const": "papertrain/1"},
        "verb": {"type": "string"},
        "mode": {"enum": ["exploratory", "quick", "standard"]},
        "result": {"type": "string"},
        "explanation": {"type": "string"},
        "action": {"type": ["string", "null"], "description": "the next command"},
        "warnings": {"type": "array", "items": {"type": "string"}},
        "unavailable": {"type": "array", "items": {"type": "string"}},
        "data": {"type": "object"},
    },
}
"""The schema of every answer."""


def envelope(verb: str) -> dict[str, Any]:
    """The schema of one verb's answers."""
    from papertrain.core.answers import data_schema

    properties: dict[str, Any] = ENVELOPE["properties"]
    return {**ENVELOPE, "properties": {**properties, "verb": {"const": verb}, "data": data_schema(verb)}}


def readable(verb: Callable[..., Any]) -> list[Parameter]:
    """The parameters of a verb that only ask."""
    return [p for p in parameters(verb) if p.name not in ACTING]


def unwritten(verb: Callable[..., Any]) -> dict[str, Any]:
    """What is added to a call where only reading is granted: a verb that can say what it would write does that."""
    return {"dry_run": True} if any(p.name == "dry_run" for p in parameters(verb)) else {}


def schema_of(params: list[Parameter]) -> dict[str, Any]:
    """JSON schema of an object with these parameters."""
    return {
        "type": "object",
        "properties": {p.name: _property(p) for p in params},
        "required": [p.name for p in params if p.required],
        "additionalProperties": False,
    }


def _property(p: Parameter) -> dict[str, Any]:
    one: dict[str, Any] = {"type": KINDS[p.kind]}
    if p.choices:
        one["enum"] = [p.kind(c) for c in p.choices]
    if p.many:
        one = {"type": "array", "items": one}
    if p.arg.help:
        one["description"] = p.arg.help
    if p.default not in (None, (), []) and not isinstance(p.default, Path):
        one["default"] = p.default
    return one


def arguments(params: list[Parameter], given: dict[str, Any]) -> dict[str, Any]:
    """JSON values → the verb's own types. Raises PapertrainError for an unknown name or a wrong type."""
    from papertrain.core.errors import PapertrainError, nearest

    known = {p.name: p for p in params}
    for name in given:
        if name not in known:
            raise PapertrainError(f"no parameter {name!r}", code="unknown-parameter", nearest=nearest(name, known))
    found: dict[str, Any] = {}
    for p in params:
        if p.name not in given or given[p.name] is None:
            if p.required:
                raise PapertrainError(f"{p.name} is missing", code="missing-parameter", ask=[p.arg.help])
            continue
        value = given[p.name]
        if p.many and not isinstance(value, list):
            value = [value]
        try:
            found[p.name] = [_convert(p, v) for v in value] if p.many else _convert(p, value)
        except (TypeError, ValueError):
            raise PapertrainError(f"{p.name}: {value!r} is not {KINDS[p.kind]}", code="wrong-type") from None
    return found


def _convert(p: Parameter, value: Any) -> Any:
    if p.kind is bool:
        if not isinstance(value, bool):
            raise TypeError
        return value
    if isinstance(value, (dict, list, bool)):
        raise TypeError
    converted = p.kind(value)
    if p.choices and str(converted) not in p.choices:
        from papertrain.core.errors import PapertrainError, nearest

        raise PapertrainError(
            f"{p.name}: {value!r} is none of {', '.join(p.choices)}",
            code="bad-choice",
            nearest=nearest(str(value), p.choices),
        )
    return converted


def confine(name: str, value: Any, folders: list[Path], *, is_path: bool) -> None:
    """Paths, and texts that could be one, must lie in a granted folder. Raises Refused, or PapertrainError for what can be no
    path (a zero byte, a user nobody knows, links that lead to each other)."""
    from papertrain.core.errors import PapertrainError, Refused

    for item in value if isinstance(value, list) else [value]:
        if not isinstance(item, (str, Path)):
            continue
        text = str(item) if is_path else str(item).split("=", 1)[-1]
        try:
            if "\0" in text:
                raise ValueError
            if not is_path and not (text.startswith(("/", "~", ".", "\\")) or Path(text).exists()):
                continue
            target = Path(text).expanduser().resolve()
        except (ValueError, RuntimeError):
            raise PapertrainError(f"{name}: {text[:80]!r} can be no path", code="no-file") from None
        if not any(target.is_relative_to(f.resolve()) for f in folders):
            raise Refused(
                f"{name}: outside of the granted folders",
                code="outside",
                ask=["name that folder when the server is started"],
            )
