"""The shared words: immutable values that rooms exchange.

Every number that the tool derives travels as a `Decision`, an `Estimate` or a `Fact` with its source, or as an
`Unknown` that says why it is missing. Other values: `core.models` (what is trained, on what), `core.training` (the
plan), `core.findings` (what is wrong), `core.results` (what was measured), `core.report` (what a verb answers).
"""

from __future__ import annotations

from datetime import date
from typing import Any, Generic, Literal, TypeVar

import msgspec

from papertrain.core.counts import agreed

T = TypeVar("T")

Effect = Literal["execution", "experiment"]
"""What a change touches: only how the run is executed (results stay comparable), or the experiment itself."""

Level = Literal["ok", "note", "warning", "error"]
"""How bad a finding is; `--fail-on` compares against it."""

LEVELS: tuple[Level, ...] = ("ok", "note", "warning", "error")

Mode = Literal["exploratory", "quick", "standard"]


class Value(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An immutable value. Both settings are inherited; kw_only is not, and type checkers want `frozen=True` said again."""


class Record(Value, frozen=True, forbid_unknown_fields=False):
    """A value that is read back from files which others may write: keys it does not know are accepted."""


class Source(Record, frozen=True, kw_only=True):
    """Where a number comes from.

    kind: how far to trust it; `assumed` is respectable, silence is not.
    ref: DOI, URL, repo@commit:path:line, or the command that measured it.
    """

    kind: Literal["paper", "datasheet", "code", "measured", "rule", "user", "assumed"]
    ref: str
    read_on: date | None = None


class Contest(Record, frozen=True, kw_only=True):
    """Evidence that disagrees with a decision."""

    ref: str
    says: str


class Decision(Record, Generic[T], frozen=True, kw_only=True):
    """One derived parameter with its reason. `rests_on` names the inputs and decisions it was derived from."""

    name: str
    value: T
    why: str
    source: Source
    unit: str = "1"
    rests_on: tuple[str, ...] = ()
    contested_by: tuple[Contest, ...] = ()

    def __post_init__(self) -> None:
        if (why := agreed(self.why)) != self.why:
            msgspec.structs.force_setattr(self, "why", why)


class Estimate(Record, frozen=True, kw_only=True):
    """A predicted quantity with its 90 % range, in base units (bytes, seconds, tokens per second).

    `value is None` means that it cannot be said; `unknown` then says why and `ask` how the user can supply it.
    An estimate is never a measurement and never enters a results table.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    unit: str = "1"
    basis: tuple[str, ...] = ()
    unknown: str = ""
    ask: str = ""


class Unknown(Value, frozen=True, kw_only=True):
    """An honest gap: never 0, -1, inf or another GPU's number."""

    why: str
    ask: str


class AppliesTo(Record, frozen=True, kw_only=True):
    """The exact content that a finding or a patch was made for."""

    file: str
    sha256: str


def plain(value: Any) -> Any:
    """A value as JSON-ready builtins. Struct fields become keys; tuples become lists; dates become text."""
    return msgspec.to_builtins(value)
