"""The board → cells with mean, deviation over seeds, interval and rank."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from papertrain.core.results import Cell, Column, Interval, Status
from papertrain.results.board import Board, Entry, Head
from papertrain.results.metrics.measured import estimate
from papertrain.results.stats.means import t_interval
from papertrain.results.stats.outcome import TOLERANCE, pointlike, stream
from papertrain.results.stats.proportion import stderr, z_of

RESAMPLES = 10_000
SEEDS_ALIKE = "no interval: all {n} runs have the same value"


def cell_of(
    board: Board,
    system: str,
    head: Head,
    *,
    seed: int,
    resamples: int = RESAMPLES,
    level: float = 0.95,
    intervals: bool = True,
) -> Cell:
    """A missing one has no value and a reason."""
    runs = board.runs(system, head)
    if not runs:
        return Cell(value=None, status="missing", reason=board.gaps.get((system, head), "no file holds it"))
    values = {s: e.value for s, e in runs.items() if e.value is not None}
    x = np.array(list(values.values()), float)
    first = next(iter(runs.values()))
    status: Status = "verified" if all(e.measured is not None for e in runs.values()) else "reported"
    if any(e.score is not None and e.score.typed for e in runs.values()):
        status = "typed"
    ci, why = None, ""
    if x.size > 1:
        ci = t_interval(x, level) if x.size > 2 else None
        if pointlike(ci):
            ci, why = None, SEEDS_ALIKE.format(n=x.size)
    elif intervals:
        ci, why = single_interval(first, system, head, seed=seed, resamples=resamples, level=level)
    labelled = x.size > 1 or bool(first.seed)
    return Cell(value=float(x.mean()), std=float(x.std(ddof=1)) if x.size > 1 else None, n_seeds=x.size, status=status, ci=ci,
                seeds=values if labelled else {}, reason=board.gaps.get((system, head)) or why or None)  # fmt: skip


def single_interval(
    e: Entry, system: str, head: Head, *, seed: int, resamples: int, level: float
) -> tuple[Interval | None, str]:
    """Interval of one run, from its items, or from the published standard error where that can be right; or why its items
    give none."""
    if e.measured is not None:
        cluster = e.items.cluster if e.items is not None else None
        return estimate(
            e.measured,
            rng=stream(seed, "interval", head.metric),
            resamples=resamples,
            level=level,
            cluster=cluster,
        )
    s = e.score
    if s is None or s.value is None:
        return None, ""
    se, how = s.stderr, "published stderr"
    if se == 0 and 0 < s.value < 1:
        se, how = (stderr(s.value, s.n), "derived from n") if s.n and s.scale == "fraction" else (None, "")
    if not se or not math.isfinite(se):
        return None, ""
    half = z_of(level) * se
    return Interval(low=s.value - half, high=s.value + half, level=level, method=f"normal, {how}"), ""


def ranks(values: list[float | None], higher: bool | None) -> list[int | None]:
    """1 is best, on unrounded values; values that differ by representation only share a rank."""
    real = [v for v in values if v is not None]
    if higher is None or len(real) < 1:
        return [None] * len(values)
    slack = TOLERANCE * max((abs(v) for v in real), default=1.0)
    sign = 1 if higher else -1
    return [None if v is None else 1 + sum(sign * (o - v) > slack for o in real) for v in values]


def decimals(column: list[Cell], shown: Column) -> int:
    """Digits after the point: two significant digits of the uncertainty, at least one for percents, and enough to show
    that the best value differs from the next."""
    spread = [s for c in column if (s := c.std or ((c.ci.high - c.ci.low) / 3.92 if c.ci is not None else 0.0)) > 0]
    factor, percent = shown.factor, shown.points
    values = [c.value * factor for c in column if c.value is not None]
    base = 1 if percent else 3
    if spread:
        smallest = sorted(s * factor for s in spread)[len(spread) // 2]
        base = (
            min(max(1 - math.floor(math.log10(smallest)), 1 if percent else 0), 2 if percent else 4)
            if smallest > 0
            else base
        )
    elif values and max(abs(v) for v in values) >= 10:
        base = 1
    distinct = sorted({round(v, 12) for v in values})
    for extra in range(3):
        if len({f"{v:.{base + extra}f}" for v in distinct}) == len(distinct):
            return base + extra
    return base


def column_of(board: Board, head: Head, cells: list[Cell]) -> Column:
    c = Column(
        dataset=head.dataset, metric=head.metric, higher_is_better=board.directions[head] is not False, unit=head.scale
    )
    shown = max(decimals(cells, c), 3) if head.scale == "mixed" else decimals(cells, c)
    return msgspec.structs.replace(c, decimals=shown)
