"""TR116: the loss scale collapses, or too many steps are skipped."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.core.findings import Rule, Signal
from papertrain.core.texts import say
from papertrain.monitor.history import History
from papertrain.monitor.rules._say import PROPOSAL, show, verdict
from papertrain.monitor.verdict import State, Verdict


def check(run: History) -> Iterator[Verdict]:
    yield from scale(run)
    yield from skipped(run)
    yield from minimum(run)


def scale(run: History) -> Iterator[Verdict]:
    """Fall by a factor of 8 (32: critical) within a few rows, after the search at the start."""
    c = run.one("loss_scale")
    if c is None or len(c) < 4:
        return
    c = c.finite()
    start = 20 if run.from_scratch(c) else 0
    best: tuple[float, int, int] = (1.0, 0, 0)
    for i in range(start, len(c)):
        for j in range(i + 1, min(i + 21, len(c))):
            if (
                c.values[j] > 0
                and (ratio := c.values[i] / c.values[j]) >= best[0] > 0
                and (ratio > best[0] or best[1] < i < best[2])
            ):
                best = (ratio, i, j)
    ratio, i, j = best
    if ratio >= 8:
        level: State = "critical" if ratio >= 32 and j - i <= 20 else "warning"
        says = say(
            "loss scale fell from {high} to {low} within {n} rows from {unit} {step}",
            high=show(c.values[i]),
            low=show(c.values[j]),
            n=j - i,
            step=c.steps[i + 1],
            unit=c.word,
        )
        yield verdict(RULE.id, "loss_scale", level, says, c, [i + 1, i, j], cls="fp16-loss-scale-minimum")


def skipped(run: History) -> Iterator[Verdict]:
    """DeepSpeed's own count: share of the last 200 steps that were skipped."""
    c = run.one("skipped_steps")
    if c is None or len(c) < 4:
        return
    c = c.finite()
    recent = next((i for i in range(len(c)) if c.steps[i] >= c.steps[-1] - 200), 0)
    steps = c.steps[-1] - c.steps[recent]
    if steps < 20 or c.steps[-1] < 60:
        return
    share = (c.values[-1] - c.values[recent]) / steps
    if share > 0.05:
        says = say(
            "{percent:.0f} % of the last {n} steps were skipped because of overflow", percent=100 * share, n=steps
        )
        yield verdict(
            RULE.id,
            "loss_scale",
            "critical" if share > 0.25 else "warning",
            says,
            c,
            [recent, -1],
            cls="fp16-loss-scale-minimum",
        )


def minimum(run: History) -> Iterator[Verdict]:
    """DeepSpeed says on each overflow to what it reduces the scale: 1 is the end."""
    for t in run.tables:
        low = [(s, n, v) for s, n, v in t.overflows if v == 1.0]
        if low:
            step, line, value = low[0]
            seen = Signal(name="loss scale", value=value, step=step if step >= 0 else None, file=t.file, line=line)
            yield Verdict(rule=RULE.id, signal="loss_scale", level="critical", says=say("loss scale is at its minimum: fp16 cannot hold these gradients"),
                          since_step=step if step >= 0 else None, seen=(seen,), cls="fp16-loss-scale-minimum")  # fmt: skip
            return


RULE = Rule(
    id="TR116",
    name="loss-scale-collapse",
    level="critical",
    check=check,
    applies="fp16 with a dynamic loss scale.",
    what="The loss scale falls by a factor of 8 within 20 rows (32: critical), or more than 5 % of the last 200 steps are skipped (25 %: critical), "
    "or the scale reaches 1 (critical). The search of the first 20 rows is free.",
    why="Each skipped step is a step that does not train; a scale at its minimum means that gradients overflow at any scale.",
    known_problems="A healthy fp16 run skips one pair of steps each time the scale doubles (1.9 % in a run with a growth window of 100). Every rank "
    "prints its overflow: they are counted once a step.",
    source=PROPOSAL,
    fires="\n".join(
        f"step={i} loss={2.9 - 0.01 * i:.2f} loss_scale={65536 / 2 ** max(0, i - 30):g}" for i in range(1, 41)
    ),
    quiet="\n".join(
        f"step={i} loss={2.9 - 0.01 * i:.2f} loss_scale={65536 / (2 if i % 15 == 0 else 1):g}" for i in range(1, 41)
    ),
)
