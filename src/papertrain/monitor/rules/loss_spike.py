"""TR104: the training loss leaves its band for several points."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.monitor.curve import Curve
from papertrain.monitor.history import History
from papertrain.monitor.rules._say import LOSS_COUNTS, PROPOSAL, show, verdict
from papertrain.monitor.stats import median, quantile, sigma, trailing_median, window
from papertrain.monitor.verdict import Verdict

FEW, USUAL = 4, 5
"""Three or four high rows in a row are chance where five lone rows went as high: the rows of so long a log are single batches."""
LONG = 4000
"""One row of so many is no stretch: what is over sooner, without twice the level, moved nothing."""


def check(run: History) -> Iterator[Verdict]:
    c = run.loss
    if c is None or len(c) < 5 or not run.loss_counts:
        return
    boundaries = run.boundaries(c)
    for begin, end in stretches(c):
        yield from spikes(run, c, begin, end, boundaries)


def stretches(c: Curve) -> Iterator[tuple[int, int]]:
    """Parts of the curve without a hole of more than 20 logging intervals (an excerpt has such holes)."""
    gaps = [b - a for a, b in zip(c.steps, c.steps[1:])]
    usual = max(1, median(gaps))
    begin = 0
    for i, g in enumerate(gaps):
        if g > 20 * usual:
            yield begin, i + 1
            begin = i + 1
    yield begin, len(c)


def quiet_start(run: History, c: Curve, begin: int) -> int:
    """Points of start-up that are not judged: warm-up, at least 5 % and 20 points, of a curve that begins at the start."""
    if begin > 0 or not run.from_scratch(c):
        return 3
    warm = bisect_left(c.steps, run.warm_until)
    return min(len(c), max(20, len(c) // 20, min(warm, len(c) // 4)))


def spikes(run: History, c: Curve, begin: int, end: int, boundaries: list[int]) -> Iterator[Verdict]:
    """Groups of points above m + max(6 sigma, 2 T); a group ends when the loss is back below m + max(3 sigma, T)."""
    y = c.values[begin:end]
    n, w = len(y), window(len(c))
    m = trailing_median(y, w)
    first = quiet_start(run, c, begin)
    i, stale, scale, tail = first, -1, 0.0, 0.0
    groups: list[tuple[int, int, float]] = []
    while i < n:
        if stale < 0 or i - stale >= max(1, w // 8):
            since = max(0, i - max(w, 40), first if i - first >= 8 else 0)  # start-up is no measure of what follows it
            past = y[since:i]
            level = m[i - 1]
            scale = max(sigma(past), (0.05 if len(past) < 8 else 0.02) * abs(level), 0.01)
            # Above the median of its own time: what the loss was before it fell is no tail.
            above = [v - a for v, a in zip(past, m[since:i])]
            tail = max(0.0, quantile(above, 0.98)) if len(past) >= 8 else max(0.0, max(past) - level)
            stale = i
        level = m[i - 1]
        back = level + max(3 * scale, tail, 0.2 * abs(level))
        if y[i] <= max(back, level + max(6 * scale, 2 * tail)):
            i += 1
            continue
        j = i
        while j < n and y[j] > back:
            j += 1
        near = bisect_left(boundaries, begin + i - 2)
        excused = near < len(boundaries) and boundaries[near] <= begin + i and j - i <= 3
        if not excused:
            groups.append((i, j, level))
        i = max(j, i + 1) if j - i <= w else i + w
        stale = -1
    lone = [max(y[i:j]) - level for i, j, level in groups if j - i < 3]
    for i, j, level in groups:
        if j - i <= FEW and sum(v >= 0.8 * (max(y[i:j]) - level) for v in lone) >= USUAL:
            continue
        found = judge(run, c, begin + i, begin + j, level, j == n)
        if found is not None:
            yield found


def judge(run: History, c: Curve, i: int, j: int, level: float, open_end: bool) -> Verdict | None:
    """One group of high points, i to j."""
    y = c.values
    peak_at = max(range(i, j), key=y.__getitem__)
    peak, length = y[peak_at], j - i
    high = peak >= 2 * level and peak > level + 0.5
    step = c.steps[i]
    lasts = length >= 3 or (length >= 2 and supported(run, step))
    cls = "loss-spike-bad-batch"
    if high and (lasts or (open_end and length >= 2)):
        says = say(
            "loss jumped from {low}, smoothed, to {high} at {unit} {step}",
            low=show(level),
            high=show(peak),
            step=c.steps[peak_at],
            unit=c.word,
        )
        return verdict(RULE.id, "train_loss", "critical", says, c, [i, i - 1, peak_at, min(j, len(c) - 1)], cls=cls)
    if open_end and high:
        says = say(
            "the last value, {high} at {unit} {step}, is far above {low}, smoothed",
            low=show(level),
            high=show(peak),
            step=step,
            unit=c.word,
        )
        return verdict(RULE.id, "train_loss", "warning", says, c, [i, i - 1], cls=cls)
    late = sorted(y[i:j])[len(y[i:j]) // 4]
    if length >= max(3, len(y) / LONG) and late > 1.3 * level and late > level + 0.1 and peak > level + 0.3:
        says = say(
            "loss stood at {high} instead of {low}, smoothed, for {n} points from {unit} {step}",
            low=show(level),
            high=show(peak),
            n=length,
            step=step,
            unit=c.word,
        )
        return verdict(RULE.id, "train_loss", "warning", says, c, [i, i - 1, peak_at, min(j, len(c) - 1)], cls=cls)
    return None


def supported(run: History, step: int) -> bool:
    """The gradient norm stands ten times above its usual at the same place."""
    norm = run.one("grad_norm")
    if norm is None:
        return False
    norm = norm.finite()
    at = bisect_left(norm.steps, step)
    past = norm.values[max(0, at - 50) : at]
    here = norm.values[at : at + 3]
    return len(past) >= 3 and bool(here) and max(here) > 10 * median(past) > 0


RULE = Rule(
    id="TR104",
    name="loss-spike",
    level="critical",
    check=check,
    applies=LOSS_COUNTS,
    what="The loss stands above m + max(6 sigma, 2 T) (m: median of the last W points, sigma: from successive differences, T: how far "
    "98 % of them stay) and does not come back at once. Critical: at least three points, with a peak of twice m and half a unit above it. "
    "Warning: at least three points (and one of 4,000 of the log) above 1.3 m. One single high point that recovers is normal, and so are three or four in a row in a log in which five lone ones went as high.",
    why="A long spike marks batches or a state that damage the weights; runs that spike once tend to spike again.",
    known_problems="Start-up (warm-up, 5 % of the points, at least 20) and the first three points of an epoch, a resume or a restarted "
    "learning rate are not judged. Rows that are single batches have a heavy tail, which T allows for.",
    source=PROPOSAL,
    status="stable",
    fires="\n".join(f"step={i} loss={5.2 if 80 <= i < 86 else 2 - 0.004 * i:.3f}" for i in range(1, 121)),
    quiet="\n".join(f"step={i} loss={5.2 if i == 80 else 2 - 0.004 * i:.3f}" for i in range(1, 121)),
)
