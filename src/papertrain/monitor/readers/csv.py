"""CSV with any column names: Lightning's `metrics.csv`, Keras' CSVLogger, Ultralytics' `results.csv`, TensorBoard's export.

Cells may be empty or padded; the delimiter is a comma, semicolon or tab; a header that comes again begins a new table.
"""

from __future__ import annotations

import re
from math import isnan, nan
from pathlib import Path

from papertrain.monitor.reader import LineParser, Reader
from papertrain.monitor.readers._text import EPOCH_KEYS, STEP_KEYS, TIME_KEYS, as_step, head_lines, number
from papertrain.monitor.table import Table

INDEX = frozenset(STEP_KEYS + EPOCH_KEYS + TIME_KEYS)


def cells(line: str, delimiter: str) -> list[str]:
    """The cells of one line; quotes may protect a delimiter."""
    if '"' not in line:
        return [c.strip() for c in line.split(delimiter)]
    parts = re.findall(rf'(?:^|{re.escape(delimiter)})("(?:[^"]|"")*"|[^{re.escape(delimiter)}]*)', line)
    return [p.strip().strip('"').strip() for p in parts]


def delimiter_of(line: str) -> str:
    return max((",", ";", "\t"), key=line.count)


def is_header(names: list[str]) -> bool:
    words = [c for c in names if c]
    return len(names) >= 2 and len(words) >= len(names) - 1 and all(number(c) is None for c in words)


def sniff(head: bytes, path: Path) -> float:
    lines = [line for line in head_lines(head, 40) if line.strip() and not line.startswith("#")]
    if len(lines) < 2:
        return 0.0
    delimiter = delimiter_of(lines[0])
    names = cells(lines[0], delimiter)
    if not is_header(names) or any(len(c) > 120 for c in names):
        return 0.0
    rows = [cells(line, delimiter) for line in lines[1:-1] or lines[1:]]
    fit = [r for r in rows if len(r) == len(names) and all(c == "" or number(c) is not None for c in r[:1] + r[-1:])]
    numbers = [r for r in rows if len(r) == len(names) and sum(number(c) is not None for c in r) >= 2]
    good = max(len(fit), len(numbers))
    if good < max(1, len(rows) / 2):
        return 0.0
    if listing(names, rows):
        return 0.0
    known = names[:3] == MONITOR or any(
        re.search(r"loss|acc|epoch|step|iter|reward|lr|metric|value", c, re.I) for c in names
    )
    return 0.75 if known else 0.4


def listing(names: list[str], rows: list[list[str]]) -> bool:
    """A table of experiments, not the course of one: no step, epoch or time, and its first column is words, one a row."""
    if any(c.lower() in INDEX or re.search(r"epoch|step|iter|time|date|batch|round", c, re.I) for c in names):
        return False
    firsts = [r[0] for r in rows if r and r[0]]
    return len(firsts) >= 2 and all(number(c) is None for c in firsts)


MONITOR = ["r", "l", "t"]
"""The header of `monitor.csv`, which Gym's and Stable-Baselines' Monitor write: reward, length and time of each episode."""


def start(table: Table) -> LineParser:
    names: list[str] = []
    kept: list[tuple[int, str]] = []
    places: tuple[int | None, ...] = (None, None, None)
    delimiter = ","

    def header(found: list[str]) -> None:
        nonlocal names, kept, places
        if [c.lower() for c in found[:3]] == MONITOR:
            found = ["reward", "episode_length", "wall_time", *found[3:]]
        names = found
        lower = [c.lower() for c in found]
        places = tuple(
            next((lower.index(k) for k in keys if k in lower), None) for keys in (STEP_KEYS, EPOCH_KEYS, TIME_KEYS)
        )
        kept = [(i, c or f"column {i + 1}") for i, c in enumerate(found) if c.lower() not in INDEX]
        if [c.lower() for _, c in kept] == ["value"]:
            kept = [(kept[0][0], Path(table.file).stem)]

    def parse(line: str, n: int) -> None:
        nonlocal delimiter
        if not names or ((line[:1].isalpha() or line[:1] in '" ') and is_header(cells(line, delimiter))):
            delimiter = delimiter_of(line)
            found = cells(line, delimiter)
            if is_header(found):
                header(found)
            else:
                table.skip(n, "no header")
            return
        row = cells(line, delimiter)
        if len(row) != len(names):
            table.skip(n, f"{len(row)} cells where the header has {len(names)}")
            return
        step, epoch, time = (nan if i is None or (v := number(row[i])) is None else v for i in places)
        values = [(name, v) for i, name in kept if row[i] and (v := number(row[i])) is not None]
        if not values and isnan(step) and isnan(epoch) and isnan(time):
            table.skip(n, "no number in it")
            return
        table.row(values, line=n, step=as_step(step) if not isnan(step) else -1, epoch=epoch, time=time)

    return parse


READER = Reader(id="csv", sniff=sniff, start=start, longest=1 << 20, what="CSV")
