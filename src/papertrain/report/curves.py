"""Learning curves as text: braille where the terminal can show it, ASCII elsewhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from math import isfinite, log10

DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
BARS = "▁▂▃▄▅▆▇█"
ASCII_BARS = "_.-=+*#@"


def unicode_ok() -> bool:
    """Whether standard output can show more than ASCII."""
    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "")
    return encoding.startswith("utf") and os.environ.get("TERM") != "dumb"


def plot(
    steps: Sequence[float],
    values: Sequence[float],
    *,
    width: int = 60,
    height: int = 6,
    title: str = "",
    logarithmic: bool = False,
    unicode: bool | None = None,
) -> list[str]:
    """Lines of at most `width` columns. Each column shows the whole range of the values in it, so that no spike is
    smoothed away; what is not finite is marked on the bottom line. Empty for fewer than two finite values."""
    unicode = unicode_ok() if unicode is None else unicode
    finite = [(s, v) for s, v in zip(steps, values) if isfinite(v)]
    if len(finite) < 2:
        return []
    logarithmic = logarithmic and min(v for _, v in finite) > 0
    scale = [(s, log10(v) if logarithmic else v) for s, v in finite]
    low, high = min(v for _, v in scale), max(v for _, v in scale)
    if high == low:
        high, low = high + (abs(high) or 1) * 0.05, low - (abs(low) or 1) * 0.05
    first, last = min(steps), max(steps)
    labels = [_short(10**v if logarithmic else v) for v in (high, low)]
    margin = max(map(len, labels)) + 1
    columns = max(8, width - margin - 1)
    dots_x, dots_y = (2, 4) if unicode else (1, 1)
    spans = _spans(scale, first, last, columns * dots_x)
    rows = height * dots_y
    grid = [[0] * columns for _ in range(height)]
    previous: int | None = None
    for x, span in enumerate(spans):
        if span is None:
            continue
        top, bottom = (round((rows - 1) * (high - v) / (high - low)) for v in (span[1], span[0]))
        if previous is not None:
            top, bottom = min(top, previous + 1), max(bottom, previous - 1)
        previous = round((rows - 1) * (high - span[2]) / (high - low))
        for y in range(max(0, top), min(rows, bottom + 1)):
            grid[y // dots_y][x // dots_x] |= DOTS[y % 4][x % 2] if unicode else 1
    draw = (lambda c: chr(0x2800 + c)) if unicode else (lambda c: "*" if c else " ")
    lines = [f"{title}"] if title else []
    for i, row in enumerate(grid):
        label = labels[0] if i == 0 else labels[1] if i == height - 1 else ""
        lines.append(f"{label:>{margin}}{'│' if unicode else '|'}" + "".join(map(draw, row)).rstrip(" \u2800"))
    odd = [s for s, v in zip(steps, values) if not isfinite(v)]
    if odd:
        marks = [" "] * columns
        for s in odd:
            marks[min(columns - 1, int((s - first) / max(1e-12, last - first) * columns))] = "✗" if unicode else "x"
        lines.append(" " * margin + ("│" if unicode else "|") + "".join(marks).rstrip() + " nan")
    axis = f"{_short(first)}{'':>{max(1, columns - len(_short(first)) - len(_short(last)))}}{_short(last)}"
    lines.append(" " * margin + ("└" if unicode else "+") + axis)
    return lines


def _spans(
    points: list[tuple[float, float]], first: float, last: float, columns: int
) -> list[tuple[float, float, float] | None]:
    """Lowest, highest and last value per column."""
    found: list[tuple[float, float, float] | None] = [None] * columns
    width = max(1e-12, last - first)
    for s, v in points:
        x = min(columns - 1, int((s - first) / width * columns))
        old = found[x]
        found[x] = (v, v, v) if old is None else (min(old[0], v), max(old[1], v), v)
    return found


def spark(values: Sequence[float], *, width: int = 24, unicode: bool | None = None) -> str:
    """One line; a column is the last value in it, `x` where there is none but NaN."""
    unicode = unicode_ok() if unicode is None else unicode
    bars = BARS if unicode else ASCII_BARS
    finite = [v for v in values if isfinite(v)]
    if not finite:
        return ""
    low, high = min(finite), max(finite)
    n = len(values)
    text = ""
    for i in range(min(width, n)):
        part = values[n * i // min(width, n) : n * (i + 1) // min(width, n)]
        good = [v for v in part if isfinite(v)]
        text += (
            bars[int((max(good) - low) / (high - low or 1) * (len(bars) - 1))] if good else ("✗" if unicode else "x")
        )
    return text


def _short(x: float) -> str:
    if x == int(x) and abs(x) < 1e6:
        return f"{int(x):,}"
    return f"{x:.3g}"
