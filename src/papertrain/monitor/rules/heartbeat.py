"""TR124: no new row for many times the usual interval."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan

from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.units import show_seconds
from papertrain.core.values import Source
from papertrain.monitor.curve import Curve
from papertrain.monitor.history import History
from papertrain.monitor.rules._say import verdict
from papertrain.monitor.stats import median
from papertrain.monitor.verdict import Verdict

FORGOTTEN = 2 * 86400.0
"""A log whose last row is older is a finished run that left no end record, and no alarm."""


def check(run: History) -> Iterator[Verdict]:
    c = run.raw_loss
    if c is None or len(c) < 8 or any(isnan(t) for t in c.times[-8:]):
        return
    if c.back_in_time():
        return
    gaps = [b - a for a, b in zip(c.times, c.times[1:]) if b > a]
    if len(gaps) < 7:
        return
    usual = median(gaps)
    if usual <= 0:
        return
    found = silent(run, c, usual) or held(run, c, usual)
    yield found or Verdict(
        rule=RULE.id,
        signal="heartbeat",
        level="normal",
        says=say("a row every {usual}", usual=show_seconds(usual)),
        seen=(c.at(len(c) - 1),),
    )


def silent(run: History, c: Curve, usual: float) -> Verdict | None:
    """The run has gone quiet just now."""
    if run.now is None or run.ended or c.times[-1] < 1e9:
        return None
    age = run.now - c.times[-1]
    if not max(10 * usual, 120) < age < FORGOTTEN:
        return None
    strong = age > max(30 * usual, 1800)
    says = say("no new row for {age}; usually one every {usual}", age=show_seconds(age), usual=show_seconds(usual))
    return verdict(
        RULE.id, "heartbeat", "critical" if strong else "warning", says, c, [-1], cls="hang-out-of-sync-large-scale"
    )


def held(run: History, c: Curve, usual: float) -> Verdict | None:
    """The run stood still once, for more than 300 times its interval and half an hour, and went on in the same process."""
    worst = max(range(1, len(c)), key=lambda i: c.times[i] - c.times[i - 1])
    gap = c.times[worst] - c.times[worst - 1]
    if (
        gap <= max(300 * usual, 1800)
        or c.resumed
        or any(c.steps[worst - 1] <= s <= c.steps[worst] for e in run.evaluations for s in e.steps)
    ):
        return None
    says = say(
        "no row for {gap} before {unit} {step}; usually one every {usual}",
        gap=show_seconds(gap),
        step=c.steps[worst],
        usual=show_seconds(usual),
        unit=c.word,
    )
    return verdict(RULE.id, "heartbeat", "warning", says, c, [worst, worst - 1], cls="hang-filesystem-freeze")


RULE = Rule(
    id="TR124",
    name="stalled",
    level="critical",
    check=check,
    applies="Every task whose rows carry times.",
    what="No new row for ten times the usual interval and two minutes (warning), thirty times and half an hour (critical), while the run has not "
    "ended. A past pause of 300 intervals and half an hour without evaluation or resume is a warning.",
    why="A rank hangs, a file system is frozen or the process is gone: the machines are paid for while nothing happens.",
    known_problems="Only logs that carry times can show it. Rows older than two days are a finished run.",
    source=Source(kind="rule", ref="docs/design/0005-monitoring-rules.md"),
    fires="\n".join(
        f'{{"step": {i}, "loss": {2 - 0.01 * i:.2f}, "_timestamp": {1700000000 + 5 * i + (8282 if i > 60 else 0)}}}'
        for i in range(1, 101)
    ),
    quiet="\n".join(
        f'{{"step": {i}, "loss": {2 - 0.01 * i:.2f}, "_timestamp": {1700000000 + 5 * i + (90 if i > 60 else 0)}}}'
        for i in range(1, 101)
    ),
)
