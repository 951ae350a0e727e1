"""Shared by the readers: numbers in all their spellings, names of steps and epochs, heads of files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from math import nan
from typing import Any

from papertrain.monitor.table import NO_STEP

NUMBER = r"[-+]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|[nN][aA][nN](?:\.0)?(?![a-zA-Z])|[iI][nN][fF](?:inity)?(?:\.0)?(?![a-zA-Z]))"
"""A number as programs print it; `nanz` and `nanms` are no numbers, `nan.0` is how Lightning's bar prints NaN."""

ODD = {
    "1.#qnan": nan,
    "-1.#ind": nan,
    "1.#ind": nan,
    "-nan(ind)": nan,
    "1.#inf": float("inf"),
    "-1.#inf": float("-inf"),
    "nan.0": nan,
    "-nan.0": nan,
    "inf.0": float("inf"),
    "-inf.0": float("-inf"),
}
STEP_KEYS = ("step", "global_step", "current_steps", "_step", "trainer/global_step", "train/global_step", "iteration",
             "iter", "num_updates", "global_steps", "update", "steps", "total_timesteps", "time/total_timesteps", "steps_done", "episode")  # fmt: skip
EPOCH_KEYS = ("epoch", "train/epoch", "current_epoch")
TIME_KEYS = ("_timestamp", "timestamp", "wall_time", "wall time", "unix_time")


def number(text: str) -> float | None:
    """The number that a program printed, or None."""
    try:
        return float(text)
    except ValueError:
        pass
    text = text.strip().lower()
    if text in ODD:
        return ODD[text]
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def as_number(value: Any) -> float | None:
    """A JSON value as number: strings that are numbers too (transformers 5 prints such), lists by their first."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        try:
            return float(value)
        except OverflowError:
            return float("inf")
    if isinstance(value, str):
        return number(value) if len(value) < 40 else None
    if isinstance(value, list) and value:
        return as_number(value[0])
    return None


def flat(row: Mapping[str, Any], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, float]]:
    """Name and number of everything in a JSON object; nested names are joined with a slash."""
    for key, value in row.items():
        if isinstance(value, dict):
            if depth < 4:
                yield from flat(value, f"{prefix}{key}/", depth + 1)
            continue
        found = as_number(value)
        if found is not None:
            yield f"{prefix}{key}", found


def pick(pairs: Iterable[tuple[str, float]], keys: tuple[str, ...]) -> float:
    """The value of the first of some keys; NaN for none."""
    table = {k.strip().lower(): v for k, v in pairs}
    return next((table[k] for k in keys if k in table), nan)


def progress(row: Mapping[str, Any]) -> tuple[int, float] | None:
    """ms-swift writes `'global_step/max_steps': '5/100'`: step and total."""
    text = row.get("global_step/max_steps")
    if not isinstance(text, str) or len(text) > 40:
        return None
    at, _, total = text.partition("/")
    return (int(at), float(total)) if at.isdecimal() and total.isdecimal() else None


def as_step(value: float) -> int:
    """A step number, or NO_STEP."""
    return int(value) if 0 <= value < 1e15 else NO_STEP


@lru_cache(maxsize=2)
def _lines(head: bytes) -> list[str]:
    encoding = "utf-16" if head[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    return re.split(r"[\r\n]+", head.decode(encoding, "replace").lstrip("\0"))


def head_lines(head: bytes, limit: int = 4000, longest: int = 8000) -> list[str]:
    """Lines of the sample that a reader is offered, cut at `longest`; carriage returns end a line. Of more than `limit`
    lines the first half as they stand and the rest evenly spread: a launcher may print thousands of lines first."""
    lines = _lines(head)
    if len(lines) > limit:
        keep = limit // 2
        step = -(-(len(lines) - keep) // (limit - keep))
        lines = lines[:keep] + lines[keep::step]
    return [line[:longest] for line in lines]


def confidence(hits: int, best: float = 0.95) -> float:
    """More matching lines, more certain; 0 for none."""
    return 0.0 if hits == 0 else min(best, 0.7 + 0.03 * hits)


def looks_binary(head: bytes) -> bool:
    """Bytes that no text log has."""
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return False
    # Zeros alone say nothing: a log that was truncated under its writer begins with a hole that reads as zeros, and
    # PowerShell appends UTF-16 to a file of another encoding.
    sample = head.replace(b"\0", b"")[:65536]
    if not sample:
        return bool(head)
    odd = sum(sample.count(bytes([b])) for b in (1, 2, 3, 4, 5, 6, 14, 15, 16, 17, 18, 19, 20, 21))
    return odd > max(3, len(sample) // 500)
