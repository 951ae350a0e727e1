"""Everything that is known about one failure: what rules look at."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from papertrain.core.findings import LogLine, Signal
from papertrain.diagnose import facts as facts_of
from papertrain.diagnose.configs import Config
from papertrain.diagnose.log import LogFile
from papertrain.diagnose.metrics import Row, rows, signal_rows
from papertrain.diagnose.rule import sig
from papertrain.diagnose.trace import Exc, exceptions, first_cause

COMPUTABLE = 1e150
"""Beyond this a square is infinite, and a sum may be: such a loss is no number to draw a curve through."""


class Case:
    """Logs, configs, plan and versions of one run. Everything derived is computed once, when a rule first asks."""

    def __init__(self, logs: Sequence[LogFile], configs: Sequence[Config] = (), plan: Any = None,
                 versions: Mapping[str, str] | None = None, signals: Sequence[Signal] = ()) -> None:  # fmt: skip
        self.logs, self.configs, self.plan, self.signals = list(logs), list(configs), plan, list(signals)
        self.versions = dict(versions or {})
        self.memo: dict[str, Any] = {}
        self.data: list[tuple[str, str]] = []  # name and text of training data that may be at fault
        self.derived: Callable[[str], Any] = lambda knob: None  # what the method would choose for a knob
        self._found: dict[str, list[LogLine]] = {}

    def find(self, *signatures: str) -> list[LogLine]:
        """The lines that match any of these, in the order of the signatures, then of the logs."""
        out: list[LogLine] = []
        for text in signatures:
            if text not in self._found:
                self._found[text] = self._find(text)
            out += self._found[text]
        return out

    def _find(self, text: str) -> list[LogLine]:
        s = sig(text)
        out: list[LogLine] = []
        for log in self.logs:
            for i in log.having(s.literal):
                if s.pattern is None or s.pattern.search(log.lines[i].text) or s.pattern.search(log.joined(i)):
                    out.append(log.quote(i))
                    if len(out) >= 20:
                        return out
        return out

    def place(self, line: LogLine) -> tuple[LogFile, int]:
        """The log that a line is quoted from, and its index there."""
        log = next(x for x in self.logs if x.name == line.file)
        return log, next((i for i, x in enumerate(log.lines) if x.no >= line.line), 0)

    def count(self, literal: str) -> int:
        return sum(log.count(literal) for log in self.logs)

    def search(self, pattern: str, literal: str) -> re.Match[str] | None:
        """The first match of a pattern on the lines that hold a literal."""
        compiled = re.compile(pattern)
        for log in self.logs:
            for i in log.having(literal):
                if m := compiled.search(log.joined(i)):
                    return m
        return None

    @cached_property
    def exceptions(self) -> list[Exc]:
        return [e for log in self.logs for e in exceptions(log)]

    @cached_property
    def root(self) -> Exc | None:
        """The exception that the others follow from."""
        firsts = [e for log in self.logs if (e := first_cause([x for x in self.exceptions if x.file == log.name]))]
        return firsts[0] if firsts else None

    @cached_property
    def rows(self) -> list[Row]:
        """Rows of all logs; of two logs that tell the same curve (a console and a JSONL of one run), the one that tells more."""
        parts = sorted((rows(log) for log in self.logs), key=lambda p: -sum("loss" in r.values for r in p))
        kept: list[list[Row]] = []
        for part in parts:
            if not any(same_curve(k, part) for k in kept):
                kept.append(part)
            else:
                kept.append([r for r in part if "train_runtime" in r.values])
        order = {log.name: i for i, log in enumerate(self.logs)}
        kept.sort(key=lambda p: order[p[0].file] if p else 0)
        return [r for p in kept for r in p] + signal_rows(self.signals)

    @cached_property
    def facts(self) -> facts_of.Facts:
        found = facts_of.Facts()
        for package, version in self.versions.items():
            found.put(
                "version:" + package.replace("-", "_"),
                version,
                LogLine(file="", line=0, text=f"{package} {version}"),
                4,
            )
        for log in self.logs:
            head = log.lines[:3000] + (log.lines[-300:] if len(log.lines) > 3000 else [])
            facts_of.from_text(found, ((x.no, x.text) for x in head), log.name, 0)
        for knob in ("micro_batch_size", "gradient_accumulation_steps", "epochs", "max_steps"):
            if knob in found.found:
                found.found[f"log:{knob}"] = found.found[knob]
        for config in self.configs:
            config.tell(found)
        if self.plan is not None:
            facts_of.from_plan(found, self.plan, "plan.json")
        return found

    def series(self, name: str) -> list[tuple[Row, float]]:
        return [(r, r.values[name]) for r in self.rows if name in r.values]

    def values(self, name: str) -> list[float]:
        return [v for _, v in self.series(name)]

    @cached_property
    def curve(self) -> list[tuple[Row, float]]:
        """Finite training losses in order."""
        return [(r, v) for r, v in self.series("loss") if abs(v) < COMPUTABLE]

    @cached_property
    def rl(self) -> bool:
        """Preference or reward training, whose loss is not judged like a likelihood."""
        keys = {k for r in self.rows[:200] for k in r.values}
        return any(k.startswith(("reward", "rewards/", "kl", "objective/", "act_loss", "logps/")) for k in keys)

    @cached_property
    def prose(self) -> str:
        """What a person wrote around a pasted log: short texts only, without rows and code. A program's long log has none."""
        lines = [x.text for log in self.logs if log.scan.size < 400_000 for x in log.lines[:3000]]
        return "\n".join(x for x in lines if "{'" not in x and ".py" not in x and len(x) < 1500)[:60_000]


def same_curve(a: Sequence[Row], b: Sequence[Row]) -> bool:
    """Most losses of the shorter one stand in the longer one, up to rounding."""
    known = {f"{v:.3g}" for r in a if (v := r.get("loss")) is not None}
    mine = [f"{v:.3g}" for r in b if (v := r.get("loss")) is not None]
    return bool(mine) and sum(m in known for m in mine) >= 0.7 * len(mine)
