"""config.json, which anyone may have written: read with limits, then asked for one field at a time."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from papertrain.core.errors import PapertrainError

LIMIT_BYTES = 8_000_000
"""The largest config.json we know of has 0.3 MB (a long id2label)."""

_HIGHEST = 10**9
Whole: TypeAlias = int  # inside Fields, `int` is a method


def local_path(text: str) -> Path:
    """The path that was typed; `~name` of nobody stays as it is."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        return Path(text)


def read_json(file: Path, limit: int = LIMIT_BYTES) -> dict[str, Any]:
    """The object in the file. Refused in one line: too large, not a file, not JSON, NaN, a key twice, too deep, not an object."""
    try:
        if not file.is_file():
            raise PapertrainError("is not a file" if file.exists() else "no such file", code="missing-file", file=file)
        size = file.stat().st_size
        if size > limit:
            raise PapertrainError(
                f"is {size / 1e6:,.0f} MB; {file.name} has at most {limit / 1e6:.0f} MB", code="too-large", file=file
            )
        with file.open("rb") as f:
            raw = f.read(limit + 1)
    except OSError as e:
        raise PapertrainError(
            f"cannot be read: {e.strerror or type(e).__name__}", code="unreadable", file=file
        ) from None
    if len(raw) > limit:
        raise PapertrainError(f"is larger than {limit / 1e6:.0f} MB", code="too-large", file=file)
    try:
        value = json.loads(raw.decode("utf-8-sig"), object_pairs_hook=_no_twins, parse_constant=_no_nan)
    except json.JSONDecodeError as e:
        raise PapertrainError(f"is not JSON: {e.msg}", code="bad-json", file=file, line=e.lineno) from None
    except UnicodeDecodeError:
        raise PapertrainError("is not UTF-8 text", code="bad-json", file=file) from None
    except RecursionError:
        raise PapertrainError("is nested too deeply", code="bad-json", file=file) from None
    except ValueError as e:
        raise PapertrainError(str(e)[:200], code="bad-json", file=file) from None
    if not isinstance(value, dict):
        raise PapertrainError(f"holds {_kind(value)}, not an object", code="bad-json", file=file)
    return value


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twin = next(k for k, _ in pairs if k in seen or seen.add(k))  # type: ignore[func-returns-value]
        raise ValueError(f"has the key {twin[:60]!r} twice")
    return found


def _no_nan(word: str) -> NoReturn:
    raise ValueError(f"holds {word}, which is no number")


def _kind(value: object) -> str:
    return {list: "a list", str: "a text", bool: "a truth value", type(None): "null"}.get(type(value), "a number")


class Fields:
    """The fields of one config, asked for by name. A missing, wrong or senseless field is one clear error."""

    def __init__(self, table: Mapping[str, Any], where: str | Path = "config.json", prefix: str = "") -> None:
        self.table = table
        self.where = where
        self.prefix = prefix

    def wrong(self, says: str, code: str = "bad-config", ask: Sequence[str] = ()) -> PapertrainError:
        return PapertrainError(says, code=code, file=self.where, ask=ask)

    def has(self, name: str) -> bool:
        return self.table.get(name) is not None

    def get(self, name: str, default: Any = None) -> Any:
        value = self.table.get(name)
        return default if value is None else value

    def int(self, *names: str, default: int | None = None, low: int = 1, high: int = _HIGHEST) -> int:
        """The first of the names that is there. Without a default it must be there."""
        for name in names:
            value = self.table.get(name)
            if value is None:
                continue
            if isinstance(value, float) and value.is_integer():
                value = int(value)
            if isinstance(value, bool) or not isinstance(value, int):
                raise self.wrong(f"{self.prefix}{name} is {str(value)[:40]!r}, not a whole number")
            if not low <= value <= high:
                raise self.wrong(f"{self.prefix}{name} is {value}; it must be between {low} and {high:,}")
            return value
        if default is None:
            raise self.wrong(
                f"{self.prefix}{names[0]} is missing",
                code="missing-key",
                ask=[f"{self.prefix}{names[0]} in config.json"],
            )
        return default

    def optional_int(self, *names: str, low: Whole = 1) -> Whole | None:
        return self.int(*names, low=low) if any(self.has(n) for n in names) else None

    def bool(self, *names: str, default: bool) -> bool:
        for name in names:
            value = self.table.get(name)
            if value is None:
                continue
            if not isinstance(value, bool):
                raise self.wrong(f"{self.prefix}{name} is {str(value)[:40]!r}, not true or false")
            return value
        return default

    def text(self, *names: str, default: str | None = None) -> str:
        for name in names:
            value = self.table.get(name)
            if value is None:
                continue
            if not isinstance(value, str):
                raise self.wrong(f"{self.prefix}{name} is not a text")
            return value
        if default is None:
            raise self.wrong(f"{self.prefix}{names[0]} is missing", code="missing-key")
        return default

    def ints(self, name: str) -> tuple[Whole, ...]:
        value = self.get(name, [])
        if (
            not isinstance(value, list)
            or len(value) > 10_000
            or not all(isinstance(v, int) and not isinstance(v, bool) for v in value)
        ):
            raise self.wrong(f"{self.prefix}{name} is not a list of whole numbers")
        return tuple(value)

    def texts(self, name: str) -> tuple[str, ...]:
        value = self.get(name, [])
        if not isinstance(value, list) or len(value) > 10_000 or not all(isinstance(v, str) for v in value):
            raise self.wrong(f"{self.prefix}{name} is not a list of texts")
        return tuple(value)

    def part(self, name: str) -> Fields:
        """A config inside the config (`text_config`)."""
        value = self.table.get(name)
        if not isinstance(value, dict):
            raise self.wrong(f"{self.prefix}{name} is missing or no object", code="missing-key")
        return Fields(value, self.where, f"{self.prefix}{name}.")

    def or_part(self, name: str) -> Fields:
        """The inner config where there is one, else this one (Falcon's and MPT's older files are flat)."""
        return (
            self.part(name)
            if isinstance(self.table.get(name), dict)
            else Fields({}, self.where, f"{self.prefix}{name}.")
        )
