"""TR115: the gradient norm leaves its band for several rows, or doubles again and again."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.monitor.curve import Curve
from papertrain.monitor.history import History
from papertrain.monitor.rules._say import LOSS_COUNTS, PROPOSAL, show, verdict
from papertrain.monitor.stats import median, quantile
from papertrain.monitor.verdict import Verdict

WINDOW = 100


def check(run: History) -> Iterator[Verdict]:
    c = run.one("grad_norm")
    if c is None or not run.loss_counts:
        return
    c = c.finite()
    if len(c) < 5:
        return
    found = doubling(c) or sustained(run, c)
    if found is not None:
        yield found


def first_judged(run: History, c: Curve) -> int:
    """The first rows are high in every run."""
    if not run.from_scratch(c):
        return 5
    return max(20, bisect_left(c.steps, run.warm_until))


def sustained(run: History, c: Curve) -> Verdict | None:
    """At least three rows in a row above ten times the median of the last hundred and twice their 98th percentile."""
    y, n = c.values, len(c)
    i = first_judged(run, c)
    while i < n:
        past = y[max(0, i - WINDOW) : i]
        if len(past) < 5:
            i += 1
            continue
        usual = median(past)
        limit = max(10 * usual, 2 * quantile(past, 0.98))
        if usual <= 0 or y[i] <= limit:
            i += 1
            continue
        j = i
        while j < n and y[j] > max(4 * usual, limit / 4):
            j += 1
        if j - i >= 3 or (j == n and j - i >= 2):
            peak = max(y[i:j])
            strong = peak > 100 * usual and j - i >= 5 and hurt(run, c.steps[i])
            says = say(
                "gradient norm stands at up to {peak}, {times:.0f} times its usual {usual}, for {n} rows from {unit} {step}",
                peak=show(peak),
                times=peak / usual,
                usual=show(usual),
                n=j - i,
                step=c.steps[i],
                unit=c.word,
            )
            return verdict(
                RULE.id,
                "grad_norm",
                "critical" if strong else "warning",
                says,
                c,
                [i, i - 1, j - 1],
                cls="divergence-lr-too-high",
            )
        i = j + 1
    return None


def doubling(c: Curve) -> Verdict | None:
    """Four successive rows, each at least twice the one before, and the last ten times the usual."""
    y = c.values
    for i in range(4, len(y)):
        if all(y[k] >= 2 * y[k - 1] > 0 for k in range(i - 3, i + 1)):
            usual = median(y[max(0, i - WINDOW) : i - 3])
            if y[i] > 20 * usual and (i >= 20 or y[i] > 100 * usual):
                says = say(
                    "gradient norm doubles at four rows in a row: {first} to {last} from {unit} {step}",
                    first=show(y[i - 4]),
                    last=show(y[i]),
                    step=c.steps[i - 3],
                    unit=c.word,
                )
                return verdict(
                    RULE.id, "grad_norm", "warning", says, c, [i - 3, i - 4, i], cls="divergence-lr-too-high"
                )
    return None


def hurt(run: History, step: int) -> bool:
    """The loss stands higher after that step than before it."""
    c = run.loss
    if c is None:
        return False
    at = bisect_left(c.steps, step)
    before, after = c.values[max(0, at - 10) : at], c.values[at + 1 : at + 11]
    return bool(before and after) and median(after) > 1.2 * median(before) + 0.1


RULE = Rule(
    id="TR115",
    name="grad-norm-spike",
    level="warning",
    check=check,
    applies=LOSS_COUNTS,
    what="At least three rows in a row above ten times the median of the last hundred rows and twice their 98th percentile; or four "
    "doublings in a row. Critical: five rows, a hundred times the usual, and the loss higher afterwards.",
    why="The norm leaves its band before the loss does (BLOOM-176B: four iterations earlier).",
    known_problems="Only relative to its own history: healthy runs print 0.05 or 1e5. The first rows are high in every run. A lone spike that the "
    "loss does not follow is normal, since clipping takes care of it.",
    source=PROPOSAL,
    fires="\n".join(
        f"step={i} loss={2 - 0.01 * i:.2f} grad_norm={40 if 60 <= i < 66 else 1 + 0.1 * (i % 3):.2f}"
        for i in range(1, 101)
    ),
    quiet="\n".join(
        f"step={i} loss={2 - 0.01 * i:.2f} grad_norm={40 if i == 60 else 1 + 0.1 * (i % 3):.2f}" for i in range(1, 101)
    ),
)
