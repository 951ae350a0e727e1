"""Curves as inline SVG, with the levels and their onset marked. Thinned by column without losing a spike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from math import floor, isfinite, log10

from papertrain.core.texts import say
from papertrain.core.values import Value

Series = tuple[str, Sequence[float], Sequence[float]]
"""Label, steps, values."""

W, H, LEFT, RIGHT, TOP, BOTTOM = 640, 230, 58, 12, 24, 34
COLUMNS = 500


class Mark(Value, frozen=True, kw_only=True):
    """A level that set in at a step."""

    step: float
    level: str
    says: str


def thin(xs: Sequence[float], ys: Sequence[float], columns: int = COLUMNS) -> list[tuple[float, float]]:
    """At most four points per column: its first, lowest, highest and last, so that every spike stays. Not finite ones are left out."""
    points = [(x, y) for x, y in zip(xs, ys) if isfinite(y) and isfinite(x)]
    if len(points) <= 4 * columns:
        return points
    first, last = min(p[0] for p in points), max(p[0] for p in points)
    width = float(last - first) / columns or 1.0
    buckets: dict[int, list[int]] = {}
    for i, (x, y) in enumerate(points):
        b = buckets.setdefault(min(columns - 1, int((x - first) / width)), [i, i, i, i])
        if y < points[b[1]][1]:
            b[1] = i
        if y > points[b[2]][1]:
            b[2] = i
        b[3] = i
    return [points[i] for key in sorted(buckets) for i in sorted(set(buckets[key]))]


def curve(name: str, series: Sequence[Series], marks: Sequence[Mark] = (), *, unit: str = "") -> str:
    """Lines over steps, or what `unit` names in the user's language. Values that are not finite are marked at the foot; a wide positive range is shown on a log scale."""
    unit = unit or say("step")
    thinned = [(label, thin(xs, ys)) for label, xs, ys in series]
    finite = [p for _, points in thinned for p in points]
    odd = sorted({x for _, xs, ys in series for x, y in zip(xs, ys) if not isfinite(y)})
    if len(finite) < 2:
        return f'<p class="unknown">{escape(say("{name}: fewer than two points", name=name))}</p>'
    (x0, x1), (y0, y1) = ((min(c), max(c)) for c in zip(*finite))
    x1 = max([x1, *odd]) if odd else x1
    logarithmic = y0 > 0 and y1 / y0 > 200
    low, high = (log10(y0), log10(y1)) if logarithmic else (y0, y1)
    if high <= low:
        pad = abs(high) * 0.05 or 1.0
        low, high = low - pad, high + pad
    x1 = x1 if x1 > x0 else x0 + 1

    def at_x(x: float) -> float:
        return float(LEFT + (x - x0) / (x1 - x0) * (W - LEFT - RIGHT))

    def at_y(y: float) -> float:
        y = log10(y) if logarithmic else y
        return TOP + (high - y) / (high - low) * (H - TOP - BOTTOM)

    inner = _axes(x0, x1, low, high, at_x, logarithmic, unit)
    key = ""
    for i, (label, points) in enumerate(thinned):
        drawn = " ".join(f"{at_x(x):.1f},{at_y(y):.1f}" for x, y in points)
        inner += f'<polyline fill="none" class="s{i % 7}" stroke-width="1.5" stroke-linejoin="round" points="{drawn}"/>'
        if len(points) <= 12:
            inner += "".join(f'<circle cx="{at_x(x):.1f}" cy="{at_y(y):.1f}" r="2.5" fill="none" class="s{i % 7}"/>' for x, y in points)  # fmt: skip
        key += f'<li><svg viewBox="0 0 1 1" aria-hidden="true"><path d="M0 .5H1" stroke-width=".4" class="s{i % 7}"/></svg>{escape(label)}</li>'
    for x in odd[:200]:
        inner += f'<path class="odd" d="M{at_x(x) - 4:.1f} {H - BOTTOM}l4 -7 4 7z"><title>{escape(say("not finite at {unit} {x:g}", unit=unit, x=x))}</title></path>'
    inner += _marks(marks, x0, x1, at_x)
    told = "; ".join(f"{m.level} {say('from {unit} {x:g}', unit=unit, x=m.step)}: {m.says}" for m in marks)
    label = f"{name}: {say('{n} points, from {a:.4g} to {b:.4g}', n=sum(len(s[1]) for s in series), a=y0, b=y1)}" + (f"; {told}" if told else "")  # fmt: skip
    caption = escape(name) + (f" ({escape(say('log scale'))})" if logarithmic else "")
    listed = f'<ul class="key">{key}</ul>' if len(series) > 1 else ""
    said = "".join(f'<p class="small {escape(m.level)}">{escape(say("from {unit} {x:g}", unit=unit, x=m.step))}: {escape(m.says)}</p>' for m in marks)  # fmt: skip
    return f'<figure><figcaption>{caption}</figcaption><svg viewBox="0 0 {W} {H}" role="img" aria-label="{escape(label)}">{inner}</svg>{listed}{said}</figure>'


def _marks(marks: Sequence[Mark], x0: float, x1: float, at_x: Callable[[float], float]) -> str:
    drawn = ""
    for m in marks:
        if x0 <= m.step <= x1:
            x = at_x(m.step)
            side = ("end", x - 4) if x > W * 0.75 else ("start", x + 4)
            drawn += f'<path class="mark {escape(m.level)}" d="M{x:.1f} {TOP}V{H - BOTTOM}"><title>{escape(m.says)}</title></path>'
            drawn += f'<text class="{escape(m.level)}" x="{side[1]:.1f}" y="{TOP - 8}" text-anchor="{side[0]}">{escape(m.level)} · {m.step:g}</text>'
    return drawn


def _axes(
    x0: float, x1: float, low: float, high: float, at_x: Callable[[float], float], logarithmic: bool, unit: str
) -> str:
    drawn = f'<path class="frame" d="M{LEFT} {TOP}V{H - BOTTOM}H{W - RIGHT}"/>'
    for v in ticks(low, high, 4):
        y = TOP + (high - v) / (high - low) * (H - TOP - BOTTOM)
        drawn += f'<path class="grid" d="M{LEFT} {y:.1f}H{W - RIGHT}"/><text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{(10**v if logarithmic else v):.3g}</text>'
    for v in ticks(x0, x1, 5):
        x = at_x(v)
        drawn += f'<text x="{x:.1f}" y="{H - BOTTOM + 16}" text-anchor="middle">{v:,g}</text>'
    return drawn + f'<text x="{W - RIGHT}" y="{H - 3}" text-anchor="end">{escape(unit)}</text>'


def ticks(low: float, high: float, about: int) -> list[float]:
    """Round numbers between the ends."""
    raw = (high - low) / max(1, about)
    if not raw > 0 or not isfinite(raw):
        return [low]
    size = 10 ** floor(log10(raw))
    step = next(m * size for m in (1, 2, 5, 10) if m * size >= raw * 0.999)
    first = int(-(-low // step))
    return [round(i * step, 12) for i in range(first, int(high // step) + 1)]
