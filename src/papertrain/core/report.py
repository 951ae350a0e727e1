"""The answer of a verb, and the envelope in which programs get it."""

from __future__ import annotations

from typing import Any

import msgspec

from papertrain.core.counts import agreed
from papertrain.core.values import LEVELS, Level, Mode, Value, plain

SCHEMA = "papertrain/1"


class Report(Value, frozen=True, kw_only=True):
    """Result, explanation, action: the same through command line, page and tool server.

    data: what `--json` prints under `data`, JSON-ready. head, body, details: text shown before the result, between
    result and explanation, and with `-v`. action: the next command, or None, exactly as it can be typed; aside: a remark
    that people see behind it, as a comment of the shell. level: the worst finding.
    """

    verb: str
    result: str
    explanation: str
    action: str | None = None
    aside: str = ""
    data: dict[str, Any] = {}
    head: str = ""
    body: str = ""
    details: str = ""
    warnings: tuple[str, ...] = ()
    unavailable: tuple[str, ...] = ()
    mode: Mode = "quick"
    level: Level = "ok"

    def __post_init__(self) -> None:
        told = {
            "result": agreed(self.result),
            "explanation": agreed(self.explanation),
            "warnings": tuple(map(agreed, self.warnings)),
        }
        for name, text in told.items():
            if text != getattr(self, name):
                msgspec.structs.force_setattr(self, name, text)

    def exit_code(self, fail_on: str = "error") -> int:
        """0, or 1 where a finding is at or above `fail_on` (error, warning, never); 2 where a part of the input is wrong; 130 where somebody
        stopped by Ctrl-C what the verb had started."""
        if self.data.get("error"):
            return 2
        if self.data.get("interrupted"):
            return 130
        if fail_on == "never":
            return 0
        return int(LEVELS.index(self.level) >= LEVELS.index(fail_on))

    def envelope(self) -> dict[str, Any]:
        """The one JSON document. Key order is part of the look, not of the contract."""
        return {
            "schema": SCHEMA,
            "verb": self.verb,
            "mode": self.mode,
            "result": self.result,
            "explanation": self.explanation,
            "action": self.action,
            "warnings": list(self.warnings),
            "unavailable": list(self.unavailable),
            "data": plain(self.data),
        }
