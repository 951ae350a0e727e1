"""TR117: the run has become slower."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.monitor.curve import Curve
from papertrain.monitor.history import History
from papertrain.monitor.rules._say import PROPOSAL, show, verdict
from papertrain.monitor.stats import median, quantile
from papertrain.monitor.verdict import State, Verdict

POINTS = 20


def speed(run: History) -> Curve | None:
    """Tokens, samples or steps a second; the inverse of a step time."""
    for name in ("throughput", "step_seconds", "step_ms", "tflops"):
        c = run.one(name)
        if c is None:
            continue
        c = c.finite()
        keep = [i for i, v in enumerate(c.values) if v > 0]
        if len(keep) < max(5, len(c) // 2):
            continue
        c = c.take(keep)
        if name.startswith("step_"):
            c.values = [1 / v for v in c.values]
        return c
    return None


def check(run: History) -> Iterator[Verdict]:
    c = speed(run)
    if c is None or len(c) < 5:
        return
    c = c.tail(min(5, len(c) // 4))
    y = c.values
    first = y[: min(100, max(3, len(y) // 2))]
    usual = median(first)
    late = y[-POINTS:]
    now = median(late)
    name = "throughput"
    if len(y) < 3 * POINTS or quantile(late, 0.9) >= 0.85 * usual or quantile(first, 0.1) < 0.6 * usual:
        low, high = quantile(y, 0.05), quantile(y, 0.95)
        steady = high <= 1.5 * low
        yield Verdict(
            rule=RULE.id,
            signal=name,
            level="normal",
            says=say("steady: {now} ({name})", now=show(now), name=c.raw)
            if steady
            else say(
                "{now} ({name}), between {low} and {high}", now=show(now), name=c.raw, low=show(low), high=show(high)
            ),
            seen=(c.at(len(c) - 1),),
        )
        return
    begin = next(i for i in range(len(y)) if all(v < 0.9 * usual for v in y[i : i + POINTS]))
    says = say(
        "{percent:.0f} % of the usual speed since {unit} {step}",
        percent=100 * now / usual,
        step=c.steps[begin],
        unit=c.word,
    )
    level: State = "critical" if now < 0.5 * usual else "warning" if now < 0.8 * usual else "normal"
    yield verdict(RULE.id, name, level, says, c, [begin, begin - 1, -1], cls="throughput-straggler-gpu")


RULE = Rule(
    id="TR117",
    name="throughput-drop",
    level="warning",
    check=check,
    applies="Every task.",
    what="Median speed of the last 20 rows against the median of the first hundred stable ones: below 80 % a warning, below 50 % critical, if nine "
    "in ten of the last rows are slow.",
    why="A slow card, node, disk or data loader holds back every rank.",
    known_problems="Longer sequences or larger batches later in a run look the same. Rows with evaluation, checkpoint or compilation in them are outliers, "
    "which a median ignores.",
    source=PROPOSAL,
    fires="\n".join(
        f"step={i} loss={2 - 0.005 * i:.3f} tokens_per_second={(1200 if i < 90 else 400) + i % 7}"
        for i in range(1, 131)
    ),
    quiet="\n".join(
        f"step={i} loss={2 - 0.005 * i:.3f} tokens_per_second={(300 if i % 25 == 0 else 1200) + i % 7}"
        for i in range(1, 131)
    ),
)
