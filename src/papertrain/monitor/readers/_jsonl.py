"""One JSON object a line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from math import isnan
from typing import Any

from papertrain.monitor.reader import LineParser
from papertrain.monitor.readers._text import EPOCH_KEYS, STEP_KEYS, TIME_KEYS, as_step, flat, head_lines, pick, progress
from papertrain.monitor.table import Table

INDEX = frozenset(STEP_KEYS + EPOCH_KEYS + TIME_KEYS + ("total_steps", "max_steps"))
BARE = re.compile(
    r"([:,\[]\s{0,4})([-+]?(?:nan|inf(?:inity)?|1\.#(?:qnan|inf|ind))(?:\(ind\))?)(?=\s{0,4}[,}\]])", re.I
)
METRIC = re.compile(r"loss|acc|reward|perplexity|grad_norm|(^|[_/])(lr|f1|ppl|kl)($|[_/])", re.I)


def read(text: str) -> Any:
    """A JSON object; numbers that no JSON has (`nan`, `-inf`, `1.#QNAN`) are taken for what they mean. Raises ValueError."""
    try:
        return json.loads(text)
    except ValueError:
        if not BARE.search(text):
            raise
        return json.loads(BARE.sub(lambda m: f'{m[1]}"{m[2]}"', text))


def sample(head: bytes) -> list[dict[str, Any]]:
    """The objects among the first lines."""
    found = []
    for line in head_lines(head, 60, 1 << 20):
        if line.lstrip()[:1] == "{":
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(row, dict):
                found.append(row)
    return found


def start(table: Table, note: Callable[[dict[str, Any]], None] | None = None) -> LineParser:
    """A parser of such lines; `note` sees every object first."""

    def parse(line: str, n: int) -> None:
        at = line.find("{")
        if at < 0:
            return
        try:
            row = read(line[at:] if at else line)
        except (ValueError, RecursionError):
            table.skip(n, "not a whole JSON object")
            return
        if not isinstance(row, dict):
            return
        if note is not None:
            note(row)
        pairs = list(flat(row))
        step, epoch, time = pick(pairs, STEP_KEYS), pick(pairs, EPOCH_KEYS), pick(pairs, TIME_KEYS)
        counted = progress(row)
        if counted is not None:
            step, table.facts["max_steps"] = float(counted[0]), counted[1]
        values = [p for p in pairs if p[0].strip().lower() not in INDEX]
        if isnan(step) and isnan(epoch) and isnan(time) and not any(METRIC.search(k) for k, _ in values):
            table.configs.update(values)  # a header that says how the run was started
            return
        if values:
            table.row(values, line=n, step=as_step(step), epoch=epoch, time=time)
        elif pairs:
            table.rows += 1

    return parse
