"""What is wrong, where it shows, and what to write instead."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from papertrain.core.values import AppliesTo, Effect, Level, Record, Source, Value


class Signal(Record, frozen=True, kw_only=True):
    """One number that a run printed. `step` is the optimizer step, or where the log names none a count of its rows or epochs,
    as `unit` says; `line` the 1-based line of `file`."""

    name: str
    value: float
    step: int | None = None
    file: str = ""
    line: int = 0
    epoch: float | None = None
    unit: str = "step"


class Skipped(Record, frozen=True, kw_only=True):
    """A line that a reader could not use: counted and shown, never fatal."""

    file: str
    line: int
    why: str


class Change(Record, frozen=True, kw_only=True):
    """One knob of a plan, or one key of a file, from old to new."""

    knob: str
    old: Any
    new: Any
    file: str = ""


class Fix(Record, frozen=True, kw_only=True):
    """A proposed change. `patch` is a unified diff of the user's own file, or None where no file was given."""

    id: str = ""
    title: str
    effect: Effect
    edits: tuple[Change, ...] = ()
    patch: str | None = None
    commands: tuple[str, ...] = ()
    proof: str = ""
    applies_to: tuple[AppliesTo, ...] = ()


class Finding(Record, frozen=True, kw_only=True):
    """One thing that a check or a monitor found."""

    rule: str
    name: str
    level: Level
    says: str
    id: str = ""
    file: str = ""
    line: int = 0
    instead: str = ""
    patch: str = ""
    effect: Effect = "execution"
    seen: tuple[Signal, ...] = ()
    fixes: tuple[Fix, ...] = ()
    applies_to: tuple[AppliesTo, ...] = ()


class LogLine(Record, frozen=True, kw_only=True):
    """A quoted line: only what is really in the file."""

    file: str
    line: int
    text: str


class RuledOut(Record, frozen=True, kw_only=True):
    cls: str
    because: str


class Diagnosis(Record, frozen=True, kw_only=True):
    """A cause with its evidence. `cls` is one of the failure names; JSON calls it `class`."""

    id: str
    cls: str
    branch: Literal["crash", "training", "result"]
    title: str
    cause: str
    confidence: float
    benign: bool = False
    evidence: tuple[LogLine, ...] = ()
    ruled_out: tuple[RuledOut, ...] = ()
    next_check: str = ""
    fixes: tuple[Fix, ...] = ()


class Rule(Value, frozen=True, kw_only=True):
    """One thing that can be wrong: its page, its `papertrain explain`, and its first two tests are read from it.

    check: what it does is up to the room (the monitor passes signals, `check` a config document, `diagnose` a log).
    fires, quiet: the smallest sample on which it must fire, and one on which it must stay quiet.
    """

    id: str
    name: str
    level: Literal["note", "warning", "error", "critical"]
    check: Callable[..., Any]
    what: str
    why: str
    source: Source
    known_problems: str = ""
    status: Literal["preview", "stable"] = "preview"
    effect: Effect = "execution"
    fires: str = ""
    quiet: str = ""
    applies: str = ""


def finding_id(rule: str, *parts: object) -> str:
    """`F-<rule>-<hash>`: the same finding in the same place keeps its id."""
    return f"F-{rule}-{hashlib.sha256(repr(parts).encode()).hexdigest()[:8]}"


def matches(rule: str, name: str, patterns: Iterable[str]) -> bool:
    """Whether one of the patterns names the rule: `TR305`, the start of an id (`TR3`), its name, or `ALL`."""
    return any(p.upper() == "ALL" or rule.startswith(p.upper()) or name == p for p in patterns)


def worst(levels: Sequence[Level]) -> Level:
    """The worst of some levels; `ok` for none."""
    order: tuple[Level, ...] = ("ok", "note", "warning", "error")
    return max(levels, key=order.index, default="ok")
