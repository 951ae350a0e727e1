"""TR102: the training loss stands clearly above where it has been."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan, sqrt
from statistics import fmean

from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.monitor.curve import Curve
from papertrain.monitor.history import History
from papertrain.monitor.rules import _onset
from papertrain.monitor.rules._say import LOSS_COUNTS, PROPOSAL, show, verdict
from papertrain.monitor.stats import median, quantile, sigma, slope, trailing_median, window
from papertrain.monitor.verdict import Verdict

SLOW = 60
"""Below so many times the noise a rise has no visible corner: its date is the best fit's."""


def check(run: History) -> Iterator[Verdict]:
    c = run.loss
    if c is None or len(c) < 4 or not run.loss_counts:
        return
    found = above_start(run, c) if len(c) < 24 else above_best(run, c)
    found = found or (swinging(run, c) if len(c) < 60 else None)
    if found is not None:
        yield found


def above_start(run: History, c: Curve) -> Verdict | None:
    """Short logs: the last three points all above 1.5 times the start and half a unit above it."""
    y = c.values
    base = median(y[:2]) if len(y) < 8 else median(y[: len(y) // 3])
    late = y[-3:]
    if min(late) > 1.5 * base and min(late) > base + 0.5 and late[-1] > 0.5 * max(y):
        first = max(1, _onset.rise(y))
        says = say(
            "loss rose from {low}, smoothed, to {high} since {unit} {step} and stays there",
            low=show(base),
            high=show(late[-1]),
            step=c.steps[first],
            unit=c.word,
        )
        return verdict(RULE.id, "train_loss", "critical", says, c, [first, first - 1, -1], cls=cause(run))
    return None


def swinging(run: History, c: Curve) -> Verdict | None:
    """Short logs that jump: the half that was logged last lies above 1.5 times the start and half a unit above it, its last
    value too, and nothing points down."""
    y = c.values
    base = median(y[: max(2, min(len(y) // 3, 8))])
    bar = max(1.5 * base, base + 0.5)
    half = y[-max(2, len(y) // 2) :]
    if (
        median(half) <= bar
        or y[-1] <= bar
        or max(0.7 * y[-1], fmean(y[-5:])) <= 0.35 * max(y)
        or (len(half) >= 6 and slope(half)[0] < -2 * slope(half)[1])
    ):
        return None
    first = max(1, _onset.rise(y, base=base))
    says = say(
        "loss went from {low}, smoothed, to {high} at {unit} {step}; half of the later values are above {middle}",
        low=show(base),
        high=show(y[-1]),
        step=c.steps[-1],
        middle=show(median(half)),
        unit=c.word,
    )
    return verdict(RULE.id, "train_loss", "critical", says, c, [first, first - 1, -1], cls=cause(run))


def above_best(run: History, c: Curve) -> Verdict | None:
    """The median of the last W points against the best such median so far."""
    y, n = c.values, len(c)
    w = window(n)
    m = trailing_median(y, w)
    full = range(w - 1, n)
    best_at = min(full, key=m.__getitem__)
    best, now = m[best_at], m[-1]
    start = median(y[: max(3, w // 2)])
    rise, gain = now - best, max(start - best, 0.0)
    late = y[-w:]
    noise = max(sigma(y[max(0, best_at - 2 * w) : best_at + 1]), sigma(y[-3 * w :]), 0.002 * abs(now))
    tail = quantile([v - a for v, a in zip(y[w:], m[w - 1 :])], 0.98) if n > 2 * w else 0.0
    error = 6 * 1.25 * noise / sqrt(w)
    head = median(y[:3])
    before = max(0, best_at - w + 1)
    if min(late) > 1.5 * head and min(late) > head + 0.5:
        first = max(1, _onset.rise(y, 0, min(best, head)))
        says = say(
            "loss rose from {low} to {high}, smoothed, since {unit} {step} and stays there",
            low=show(min(best, head)),
            high=show(now),
            step=c.steps[first],
            unit=c.word,
        )
        return verdict(RULE.id, "train_loss", "critical", says, c, [first, first - 1, -1], cls=cause(run))
    if best_at > n - w // 2 or rise <= error or rise <= 0:
        return None
    if recovering(late, noise) and rise < 0.5 * max(gain, abs(best)):
        return None
    low = quantile(late, 0.1 if n >= 100 else 0.0)
    lifted = low > best + 0.25 * rise or rise > 3 * max(tail, noise)
    exploded = now > 1.5 * max(start, best) + 0.5 and lifted
    strong = rise > 0.5 * gain and rise > 0.25 * abs(best) and rise > max(tail, 0.02) and lifted
    if exploded or strong:
        onset = begun(y, before, best, rise < SLOW * noise)
        says = say(
            "loss rose from {low} to {high}, smoothed, since {unit} {step}",
            low=show(best),
            high=show(now),
            step=c.steps[onset],
            unit=c.word,
        )
        return verdict(RULE.id, "train_loss", "critical", says, c, [onset, best_at, -1], cls=cause(run))
    small = rise <= 0.15 * gain or rise <= 0.02 * abs(best) or rise <= 0.01
    if small or not lasting(m, best, rise, w):
        return None
    onset = begun(y, before, best, rise < SLOW * noise)
    if n - onset < max(2 * w, n // 10) or (same_epoch(c, onset) and not run.single_epoch):
        return None
    says = say(
        "loss creeps up since {unit} {step}: {low} to {high}, smoothed",
        low=show(best),
        high=show(now),
        step=c.steps[onset],
        unit=c.word,
    )
    return verdict(RULE.id, "train_loss", "warning", says, c, [onset, best_at, -1], cls=cause(run))


def begun(y: list[float], before: int, best: float, slow: bool) -> int:
    """The first point of the rise."""
    found = _onset.creep(y) if slow else None
    return max(1, _onset.rise(y, before, best) if found is None else found)


def recovering(late: list[float], noise: float) -> bool:
    """The last points fall again."""
    change, error = slope(late)
    return change < -2 * error and change < -noise / 2


def same_epoch(c: Curve, onset: int) -> bool:
    """The whole rise lies inside one epoch: multi-epoch training rises a little inside every epoch."""
    if isnan(c.epochs[onset]) or isnan(c.epochs[-1]):
        return False
    return c.epochs[-1] - c.epochs[onset] < 1


def lasting(m: list[float], best: float, rise: float, w: int) -> bool:
    """The level has stood in the upper half of the rise for a whole window."""
    return min(m[-w:]) > best + 0.4 * rise


def cause(run: History) -> str:
    """What diagnose would look at first."""
    c = run.raw_loss
    if c is not None and c.resumed:
        return "resume-loss-spike-optimizer-state"
    return "dpo-lr-too-high" if run.task == "dpo" else "divergence-lr-too-high"


RULE = Rule(
    id="TR102",
    name="loss-diverging",
    level="critical",
    check=check,
    applies=LOSS_COUNTS,
    what="The median loss of the last W points (5 % of the points, 8 to 200) stands above the best such median so far. Critical: by "
    "half of the gain made since the start and by 25 %, or above 1.5 times the start by half a unit. Warning (slow divergence): by more "
    "than six standard errors, 2 % and 15 % of the gain, for longer than a window, not falling, and not inside one epoch. "
    "With fewer than 24 points only the comparison with the start is made; with fewer than 60, a later half whose median and last value are "
    "above 1.5 times the start by half a unit is critical too.",
    why="The weights are being driven away from what they had learned; waiting rarely brings them back.",
    known_problems="A change of data or of the loss's weights looks the same. GRPO, PPO and adversarial losses are not judged on their level.",
    source=PROPOSAL,
    status="stable",
    fires="\n".join(f"step={i} loss={2 - 0.01 * i + (0.06 * (i - 60) if i > 60 else 0):.3f}" for i in range(1, 121)),
    quiet="\n".join(f"step={i} loss={1 + 1.4 / (1 + i / 10):.3f}" for i in range(1, 121)),
)
