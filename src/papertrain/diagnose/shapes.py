"""Shapes of a training curve that rules ask for. Only relations inside one run: no absolute threshold on a loss."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence

from papertrain.core.values import Value
from papertrain.diagnose.case import Case
from papertrain.diagnose.metrics import Row


class NonFinite(Value, frozen=True, kw_only=True):
    """The first row that is broken. `hidden`: the Trainer printed 0.0 for a loss that was not a number.

    before: finite losses of the rows before it. grad_first: the gradient norm broke while the loss was still sane.
    lasts: it never recovers.
    """

    row: Row
    index: int
    hidden: bool
    loss_bad: bool
    grad_bad: bool
    grad_first: bool
    lasts: bool
    before: tuple[float, ...]
    norms: tuple[float, ...]
    lr: float | None
    peak_lr: float | None

    @property
    def early(self) -> bool:
        return len(self.before) <= 2

    @property
    def lr_at_foot(self) -> bool:
        """The learning rate was still far below where the warm-up leads: it cannot have been the reason."""
        if self.lr is None:
            return False
        return self.lr == 0 or self.lr < 1e-6 or (self.peak_lr is not None and 0 < self.lr < 0.12 * self.peak_lr)

    @property
    def grew(self) -> bool:
        """The loss (or the norm) had been growing before it broke."""
        return growing(self.before) or growing(self.norms, 10.0)


def growing(values: Sequence[float], factor: float = 1.5) -> bool:
    if len(values) < 3:
        return False
    tail = values[-1]
    low = min(values[:-1])
    return tail > factor * low and tail > low + 0.3 and values[-1] > values[-2] > low


def non_finite(case: Case) -> NonFinite | None:
    """Where the run's numbers broke, or None. A loss of exactly 0.0 counts only where something else says so."""
    train = [r for r in case.rows if ("loss" in r.values or "grad_norm" in r.values) and "eval_loss" not in r.values]
    zeros, heals = hidden_zeros(case, train), healing(train)
    planned = case.facts.number("learning_rate")
    for i, r in enumerate(train):
        loss, norm = r.get("loss"), r.get("grad_norm")
        loss_bad = loss is not None and not math.isfinite(loss)
        hidden = i in zeros and loss == 0
        grad_bad = norm is not None and (not math.isfinite(norm) or (hidden and i in frozen(train)))
        if not (loss_bad or grad_bad or hidden):
            continue
        if grad_bad and not (loss_bad or hidden) and (not _stays(train, i, "grad_norm") or heals[i]):
            continue
        if loss_bad and not _stays(train, i, "loss") and len(train) > i + 3:
            continue
        before = tuple(v for x in train[:i] if (v := x.get("loss")) is not None and math.isfinite(v))
        norms = tuple(v for x in train[:i] if (v := x.get("grad_norm")) is not None and math.isfinite(v))
        lrs = [v for x in train if (v := x.get("learning_rate")) is not None]
        lr = r.get("learning_rate")
        return NonFinite(
            row=r, index=i, hidden=hidden, loss_bad=loss_bad, grad_bad=grad_bad,
            grad_first=grad_bad and not hidden and not loss_bad, lasts=_stays(train, i, "loss") or hidden,
            before=before, norms=norms, lr=lr, peak_lr=max([*lrs, *([planned] if planned else [])], default=None),
        )  # fmt: skip
    return None


def _stays(train: Sequence[Row], i: int, name: str) -> bool:
    """Broken from here on: at least three of the next four rows too, or the log ends within them."""
    after = [v for r in train[i + 1 : i + 5] if (v := r.get(name)) is not None]
    bad = sum(1 for v in after if not math.isfinite(v) or (name == "loss" and v == 0))
    return len(after) == 0 or bad >= max(1, 0.7 * len(after))


def healing(train: Sequence[Row]) -> list[bool]:
    """Row by row: from there on three norms of four are whole, as of steps that were skipped while fp16 searched its scale."""
    norms = bad = 0
    found = []
    for r in reversed(train):
        if (v := r.get("grad_norm")) is not None:
            norms, bad = norms + 1, bad + (not math.isfinite(v))
        found.append(bad <= norms / 4)
    return found[::-1]


def hidden_zeros(case: Case, train: Sequence[Row]) -> set[int]:
    """Rows whose loss 0.0 stands for a NaN: beside a norm that is broken or frozen to the last digit, or zeros to the end
    after clearly positive losses."""
    zero = [i for i, r in enumerate(train) if r.get("loss") == 0]
    if not zero:
        return set()
    same = set() if case.rl else frozen(train)
    out = {
        i
        for i in zero
        if (n := train[i].get("grad_norm")) is not None
        # In GRPO and its kin a loss of 0 beside a clipped norm is an ordinary step.
        and (not math.isfinite(n) or i in same)
    }
    if case.rl and not out:
        return set()
    last = max((i for i, r in enumerate(train) if r.get("loss") not in (0, None)), default=-1)
    tail = [i for i in zero if i > last]
    finite_norm = any((n := train[i].get("grad_norm")) is not None and n > 0 and math.isfinite(n) for i in tail)
    level = [v for r in train[: tail[0] if tail else 0] if (v := r.get("loss"))]
    if len(tail) >= 2 and not finite_norm and (not level or statistics.median(level[-5:]) > 0.05):
        out |= set(tail)
    return out


def frozen(train: Sequence[Row]) -> set[int]:
    """Rows whose norm repeats to all digits: it was not computed anew, or it is exactly what clipping leaves of a broken one.
    The same row printed again by another rank repeats nothing."""
    blocks = [[i for i, _ in g] for _, g in itertools.groupby(enumerate(train), lambda x: x[1].values)]
    norms = [train[b[0]].get("grad_norm") for b in blocks]
    found: set[int] = set()
    for k, norm in enumerate(norms):
        near = norms[max(0, k - 1) : k] + norms[k + 1 : k + 2]
        if norm and math.isfinite(norm) and (norm in near or norm == 1.0):
            found.update(blocks[k])
    return found


NOISES = 7.0
"""How many deviations of its median a level must have risen: among hundreds of windows some lie four above the lowest."""


def smooth(values: Sequence[float], width: int = 5) -> list[float]:
    half = width // 2
    return [statistics.median(values[max(0, i - half) : i + half + 1]) for i in range(len(values))]


class Rise(Value, frozen=True, kw_only=True):
    """A loss that left its best level. `best`, `end`: smoothed levels; `at`: the row where it left; `sudden`: in one jump."""

    at: Row
    best: float
    peak: float
    end: float
    start: float
    sudden: bool
    recovered: bool
    norm_rose: float
    first: float
    lowest: float

    @property
    def beyond(self) -> bool:
        """What had been learnt is lost, and more: it ends well above where it began, after it had fallen."""
        return self.lowest < 0.87 * self.first and self.end > 1.3 * self.first


def rise(case: Case) -> Rise | None:
    """Remembered for the case, like `spike`."""
    if "rise" not in case.memo:
        case.memo["rise"] = _rise(case)
    found: Rise | None = case.memo["rise"]
    return found


def _rise(case: Case) -> Rise | None:
    """The largest rise of the training loss above its best smoothed level, if it is beyond the run's own noise."""
    rows, values = [r for r, _ in case.curve], [v for _, v in case.curve]
    if len(values) < 8:
        return None
    width = 5 if len(values) < 60 else 9
    level = smooth(values, width)
    noise = _noise(values)
    best_i = 0
    worst: tuple[float, int, int] | None = None
    for i in range(1, len(level)):
        if level[i] < level[best_i]:
            best_i = i
        elif worst is None or level[i] - level[best_i] > worst[0]:
            worst = (level[i] - level[best_i], best_i, i)
    if worst is None:
        return None
    height, a, b = worst
    gain = max(level[0] - level[a], 0.0)
    # The losses of small batches scatter more the more has been learnt, and the last window is a short one.
    near = values[max(0, a - max(30, len(values) // 8)) : a + 1]
    noise = max(noise, min(statistics.pstdev(near), 2 * _noise(near)))
    seen = len(values[max(0, b - width // 2) : b + width // 2 + 1])
    if height < max(NOISES * noise / math.sqrt(seen), 0.25 * abs(level[a]), 0.5 * gain if gain > 0.5 else 0.2, 0.15):
        return None
    leave = next((i for i in range(a, b + 1) if values[i] > level[a] + max(4 * noise, 0.15 * height)), b)
    before = statistics.fmean(near[-max(width, len(values) // 8) :])
    if height < 12 * noise and statistics.fmean(values[leave:]) - before < 0.4 * height:
        return None  # the lowest of many windows, and no new level
    b = next(i for i in range(a, b + 1) if level[i] >= level[a] + 0.9 * height)
    end = statistics.median(values[-min(5, len(values)) :])
    last = values[-min(5, len(values)) :]
    within = end - level[a] < NOISES * noise / math.sqrt(len(last))
    recovered = b < len(values) - 2 and (
        (within and end < level[a] + 0.6 * height)
        or (end < min(level[a] + 0.35 * height, 1.25 * level[a] + 0.1) and values[-1] < level[a] + 0.6 * height)
    )
    return Rise(at=rows[leave], best=level[a], peak=level[b], end=end, start=level[0], sudden=b - leave <= 3 + width // 2,
                recovered=recovered, norm_rose=_norm_ratio(case, rows[a], rows[b]),
                first=max(level[0], values[0]), lowest=min(values[: leave + 1]))  # fmt: skip


def _noise(values: Sequence[float]) -> float:
    steps = [abs(b - a) for a, b in itertools.pairwise(values)]
    return 1.05 * statistics.median(steps) if steps else 0.0


def _norm_ratio(case: Case, a: Row, b: Row) -> float:
    """How many times the norm around the peak exceeds the norm around the best point; 1 where no norm is logged."""
    rows = [r for r, _ in case.curve]
    ia, ib = rows.index(a), rows.index(b)
    near = [n for r in rows[max(0, ia - 8) : ia + 1] if (n := r.get("grad_norm")) and math.isfinite(n)]
    far = [n for r in rows[ia + 1 : ib + 3] if (n := r.get("grad_norm")) and math.isfinite(n)]
    return max(far) / statistics.median(near) if near and far and statistics.median(near) > 0 else 1.0


def spike(case: Case) -> tuple[Row, float, float] | None:
    """An isolated jump to at least twice the level around it: (row, value, level)."""
    rows, values = [r for r, _ in case.curve], [v for _, v in case.curve]
    if len(values) < 9:
        return None
    noise = _noise(values)
    for i in range(4, len(values)):
        around = values[max(0, i - 9) : i]
        level = statistics.median(around)
        near = _noise(values[:i]) if i < 30 else noise
        if values[i] > max(2 * level, level + 0.5, level + 8 * near) and values[i] > 1.2 * max(around):
            return rows[i], values[i], level
    return None


def falling_at_end(values: Sequence[float]) -> float:
    """Relative gain from the third to the last quarter of a curve: positive while it still falls."""
    if len(values) < 8:
        return 0.0
    n = len(values) // 4
    a, b = statistics.fmean(values[-2 * n : -n]), statistics.fmean(values[-n:])
    return (a - b) / abs(a) if a else 0.0
