"""Robust statistics in plain Python: median, scale, trailing median, trend. Nothing here is fooled by one outlier."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from itertools import pairwise
from math import sqrt


def median(values: Sequence[float]) -> float:
    """The middle value. Raises ValueError for none."""
    if not values:
        raise ValueError("median of nothing")
    s = sorted(values)
    n = len(s)
    return s[n // 2] if n % 2 else (s[n // 2 - 1] + s[n // 2]) / 2


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def quantile(values: Sequence[float], q: float) -> float:
    """Linear between the order statistics."""
    s = sorted(values)
    at = q * (len(s) - 1)
    low = int(at)
    high = min(low + 1, len(s) - 1)
    return s[low] + (at - low) * (s[high] - s[low])


def sigma(values: Sequence[float], floor: float = 0.0) -> float:
    """Noise from successive differences: 1.4826 × their median size / sqrt 2. A trend does not enter it."""
    if len(values) < 3:
        return floor
    steps = [abs(b - a) for a, b in pairwise(values)]
    return max(floor, 1.4826 * median(steps) / sqrt(2))


def deviation(values: Sequence[float]) -> float:
    """Sample standard deviation; 0 for fewer than two."""
    if len(values) < 2:
        return 0.0
    m = mean(values)
    return sqrt(sum((v - m) ** 2 for v in values) / (len(values) - 1))


def trailing_median(values: Sequence[float], window: int) -> list[float]:
    """At each point the median of the last `window` points, itself included."""
    found: list[float] = []
    box: list[float] = []
    for i, v in enumerate(values):
        insort(box, v)
        if i >= window:
            box.pop(bisect_left(box, values[i - window]))
        n = len(box)
        found.append(box[n // 2] if n % 2 else (box[n // 2 - 1] + box[n // 2]) / 2)
    return found


def window(points: int) -> int:
    """W: 5 % of the points, at least 8, at most 200."""
    return max(8, min(200, points // 20))


def blocks(values: Sequence[float], count: int) -> list[float]:
    """At most `count` means of neighbouring values."""
    n = len(values)
    if n <= count:
        return list(values)
    return [mean(values[n * i // count : n * (i + 1) // count]) for i in range(count)]


def slope(values: Sequence[float]) -> tuple[float, float]:
    """Least squares: change from the first to the last value, and its standard error."""
    n = len(values)
    if n < 3:
        return 0.0, float("inf")
    middle, m = (n - 1) / 2, mean(values)
    sxx = n * (n * n - 1) / 12
    b = sum((i - middle) * (v - m) for i, v in enumerate(values)) / sxx
    rest = sum((v - m - b * (i - middle)) ** 2 for i, v in enumerate(values))
    return b * (n - 1), sqrt(rest / (n - 2) / sxx) * (n - 1)


def solve(matrix: Sequence[Sequence[float]], right: Sequence[float]) -> list[float] | None:
    """A few linear equations by elimination with pivots; None where they do not decide."""
    n = len(right)
    m = [[*row, v] for row, v in zip(matrix, right)]
    for i in range(n):
        top = max(range(i, n), key=lambda r: abs(m[r][i]))
        if abs(m[top][i]) < 1e-12:
            return None
        m[i], m[top] = m[top], m[i]
        for r in range(i + 1, n):
            share = m[r][i] / m[i][i]
            m[r] = [a - share * b for a, b in zip(m[r], m[i])]
    x = [0.0] * n
    for i in reversed(range(n)):
        x[i] = (m[i][n] - sum(m[i][c] * x[c] for c in range(i + 1, n))) / m[i][i]
    return x
