"""When did it begin? A rise is proved late and began earlier: its date is looked for afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, sqrt

from papertrain.monitor.stats import blocks, deviation, mean, median, solve

SHORT = 5
HELD = 0.54
"""The deviation of a median of five, as a share of that of one point."""


def smooth(values: Sequence[float]) -> list[float]:
    """Medians of five around each point (of three where there are few): one odd point moves nothing."""
    half = SHORT // 2 if len(values) >= 24 else 1 if len(values) >= 8 else 0
    return [median(values[max(0, i - half) : i + half + 1]) for i in range(len(values))] if half else list(values)


def noise(values: Sequence[float]) -> float:
    """From second differences, which a slope does not enter."""
    if len(values) < 12:
        return 0.0
    bends = [abs(a - 2 * b + c) for a, b, c in zip(values, values[1:], values[2:])]
    return 1.4826 * median(bends) / sqrt(6)


def last_below(values: Sequence[float], level: float, start: int) -> int:
    """The first point after which the values never come back to the level."""
    i = len(values)
    while i > start and values[i - 1] > level:
        i -= 1
    return i


def rise(values: Sequence[float], start: int = 0, base: float | None = None) -> int:
    """Where the rise that ends the series began: the last touch of the band of noise above its base, drawn back to the base
    along the chord of the climb. `base` is the level before it; by default the lowest smoothed value from `start` on."""
    n = len(values)
    if n - start < 3:
        return max(0, min(start, n - 1))
    s = smooth(values)
    e = HELD * noise(values[start:])
    top = max(median(values[-SHORT:]) if n >= 24 else s[-1], min(s[start:]) if base is None else base)
    if base is None:
        base = min(s[start:])
        base += min(2 * e, 0.1 * (top - base))  # the lowest of many is below their usual level
    way = top - base
    if way <= 0:
        return n - 1
    half = last_below(s, base + 0.6 * way, start)
    bottom = min(range(start, max(start + 1, half)), key=s.__getitem__)  # it cannot have begun before its lowest point
    quiet = drawn(s, base, last_below(s[:half], base + min(0.25 * way, 2.5 * e), bottom), half, bottom)
    steep = drawn(s, base, last_below(s[:half], base + 0.25 * way, bottom), half, bottom)
    reach = steep - quiet
    back = max(start, quiet - reach)
    if reach > 2 and quiet - back >= max(3, reach // 4):
        before, after = (s[quiet] - s[back]) / (quiet - back), (s[steep] - s[quiet]) / reach
        if before > 0.5 * after:
            return steep  # the base itself drifts: the kink is where the climb begins
    return quiet


BLOCKS = 120
DECAYS = (0.02, 0.06, 0.15)
"""How fast a loss falls at first, as shares of the run: a mixture of these and a line follows any usual fall."""
FITS = 2.0
"""What is left over may be this much larger than the noise between neighbours."""
BENDS = (0.5, 1.0, 2.0)
"""A climb that flattens, goes on or grows."""


def creep(values: Sequence[float]) -> int | None:
    """Where a slow rise under noise began: least squares of a fall and a climb that begins at any point, each place weighted
    by its likelihood; the middle of the places. None where no such curve describes the values within their noise."""
    z = blocks(values, BLOCKS)
    m = len(z)
    if m < 24:
        return None
    xs = [(i + 0.5) / m for i in range(m)]
    base = [[1.0, x, *(exp(-x / d) for d in DECAYS)] for x in xs]
    terms = range(len(base[0]))
    square = [[sum(r[i] * r[j] for r in base) + (1e-4 if i == j > 0 else 0) for j in terms] for i in terms]
    right = [sum(r[i] * v for r, v in zip(base, z)) for i in terms]
    found = []
    for bend in BENDS:
        for k in range(max(2, m // 20), m - max(2, m // 20), max(1, m // 60)):
            climb = [max(0.0, x - xs[k]) ** bend for x in xs]
            cross = [sum(r[i] * v for r, v in zip(base, climb)) for i in terms]
            matrix = [*([*row, v] for row, v in zip(square, cross)), [*cross, sum(v * v for v in climb)]]
            c = solve(matrix, [*right, sum(u * v for u, v in zip(climb, z))])
            if c is None or c[-1] <= 0:
                continue
            fit = [sum(u * v for u, v in zip(c, r)) + c[-1] * v for r, v in zip(base, climb)]
            error = sum((u - v) ** 2 for u, v in zip(fit, z))
            found.append((error, min(range(k, m), key=fit.__getitem__)))
    if not found:
        return None
    least = min(found)[0]
    spread = least / (m - 7)
    if sqrt(spread) > FITS * noise(z):
        return None
    weighed = sorted((low, exp((least - error) / (2 * spread + 1e-300))) for error, low in found)
    half, passed, at = sum(w for _, w in weighed) / 2, 0.0, 0
    while passed + weighed[at][1] < half:
        passed += weighed[at][1]
        at += 1
    return round((weighed[at][0] + 0.5) * len(values) / m)


def kink(values: Sequence[float], base: float) -> int:
    """The same where the base itself drifts: only the steep part of the climb counts."""
    s = smooth(values)
    way = s[-1] - base
    half = last_below(s, base + 0.6 * way, 0)
    return drawn(s, base, last_below(s[:half], base + 0.3 * way, 0), half, 0)


def drawn(s: Sequence[float], base: float, low: int, half: int, start: int) -> int:
    """The chord from `low` to `half`, drawn back to the base."""
    last = len(s) - 1
    low, half = min(low, last), min(half, last)
    if half - low <= 1 or s[half] <= s[low]:
        return low
    back = (s[low] - base) * (half - low) / (s[half] - s[low])
    return max(start, min(low, round(low - max(0.0, back))))


def fall(values: Sequence[float], start: int = 0) -> int:
    """Where the fall that ends the series began."""
    return rise([-v for v in values], start)


def flat(values: Sequence[float], begin: int, end: int) -> int:
    """Where the level of values[begin:end] was first reached for good: blocks before `begin` belong to it until two in a
    row do not."""
    part = values[begin:end]
    level, size = mean(part), max(1, (end - begin) // 24)
    band = max(0.003 * abs(level), 3 * deviation(part) / sqrt(size))
    at, i, out = begin, begin, 0
    while i - size >= 0 and out < 2:
        i -= size
        if abs(mean(values[i : i + size]) - level) <= band:
            at, out = i, 0
        else:
            out += 1
    return at


def trailing(values: Sequence[float], bad: Sequence[bool]) -> int:
    """The first point of the run of bad ones that ends the series, single good ones among them allowed for."""
    i = len(values)
    while i > 0 and (bad[i - 1] or (i > 2 and bad[i - 2] and bad[i - 3])):
        i -= 1
    return min(i, len(values) - 1)
