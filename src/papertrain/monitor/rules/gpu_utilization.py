"""TR112: the cards wait."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.monitor.curve import Curve
from papertrain.monitor.history import History
from papertrain.monitor.rules import _telemetry
from papertrain.monitor.rules._say import PROPOSAL, verdict
from papertrain.monitor.stats import mean, median, quantile
from papertrain.monitor.verdict import State, Verdict

PAUSES = 15.0
"""Points of utilisation that regular pauses (evaluation, checkpoints) may cost."""


def check(run: History) -> Iterator[Verdict]:
    cards = _telemetry.cards(run)
    if not cards:
        return
    worst: tuple[float, State, Curve, int] | None = None
    for card in cards:
        whole = _telemetry.held(card)
        c = _telemetry.after_start(whole)
        if len(c) < (10 if card.certain else 40):
            continue
        value, begin = lately(c.values)
        state: State = "critical" if value < 50 else "warning" if value < 80 else "normal"
        high = quantile(c.values, 0.95)
        if state == "critical" and not card.certain and (value >= 30 or card.memory is None):
            # A counter of the machine beside a run that goes on: waste, not failure; without memory it is not even
            # known whether the run uses this card.
            state = "warning"
        if state == "warning" and not card.certain and value >= 60 and high >= 70:
            state = "normal"
        if worst is None or value < worst[0]:
            worst = (value, state, whole, begin + len(whole) - len(c) if begin else 0)
    if worst is None:
        return
    use, level, c, since = worst
    names = ", ".join(card.name for card in cards)
    if level == "normal":
        yield Verdict(
            rule=RULE.id,
            signal="gpu_utilization",
            level="normal",
            says=say("{use:.0f} % on the run's own cards ({names})", use=use, names=names),
        )
        return
    late = c.values[since:]
    burst = quantile(late, 0.95) >= 70 and quantile(late, 0.05) < 10
    why = (
        say("in bursts: the card waits for data")
        if burst
        else say("all the time: batch too small, or another bottleneck")
    )
    when = _telemetry.clock(c, since) if since else ""
    if when:
        says = say(
            "{use:.0f} % on the run's cards ({names}) since {when}, {why}", use=use, names=names, when=when, why=why
        )
    else:
        says = say("{use:.0f} % on the run's cards ({names}), {why}", use=use, names=names, why=why)
    found = verdict(
        RULE.id, "gpu_utilization", level, says, c, [since, len(c) // 2, -1], cls="throughput-straggler-gpu"
    )
    yield _telemetry.dated(run, found, c, since)


def lately(values: list[float]) -> tuple[float, int]:
    """The usual of the whole, or of the windows that end it where these are all below 80 % and 15 points below the rest;
    and the sample at which that began (0: from the start on)."""
    size = _telemetry.width(values)
    parts = [fair(w) for w in _telemetry.windows(values)] or [mean(values)]
    whole = median(parts)
    level = 50.0 if whole < 50 or median(parts[-3:]) < 50 else 80.0
    i = len(parts)
    while i > 0 and parts[i - 1] < level:
        i -= 1
    if len(parts) - i >= 3 and i > 0 and median(parts[i:]) < min(80.0, median(parts[:i]) - 15):
        return median(parts[i:]), i * size + sharper(values[i * size - size : i * size + size], level, size)
    return whole, 0


def sharper(values: list[float], level: float, size: int) -> int:
    """Where inside two neighbouring windows the level was lost, counted from the border between them."""
    best = min(
        range(1, len(values)), key=lambda k: sum(v < level for v in values[:k]) + sum(v >= level for v in values[k:])
    )
    return best - size


def fair(w: list[float]) -> float:
    """The mean of a window, which pauses may lower by at most 15 points."""
    return max(mean(w), min(median(w), mean(w) + PAUSES))


RULE = Rule(
    id="TR112",
    name="gpu-underused",
    level="warning",
    check=check,
    applies="Every task; needs telemetry.",
    what="Utilisation of the cards on which the run holds memory, as the median over ten-minute windows after start-up, or over the windows that end the trace where "
    "it fell in mid-run (three or more, 15 points below the rest); pauses for evaluation and checkpoints may cost 15 points. Normal above 80 %, warning 50 to 80 %, critical below 50 %. Counters of W&B, which cover the machine, "
    "are critical below 30 % only, and a warning below 60 %.",
    why="The card is paid for and waits, mostly for data, for the host or for other ranks.",
    known_problems="Utilisation is the share of time in which any kernel ran: 100 % goes with 20 % of the peak arithmetic. Other people's cards "
    "of the same machine are not judged.",
    source=PROPOSAL,
    fires="timestamp, index, utilization.gpu [%], memory.used [MiB], memory.total [MiB]\n"
    + "\n".join(
        f"2026/01/01 00:{i // 4:02d}:{i % 4 * 15:02d}.000, 0, {35 + i % 7} %, 30994 MiB, 81559 MiB" for i in range(120)
    ),
    quiet="timestamp, index, utilization.gpu [%], memory.used [MiB], memory.total [MiB]\n"
    + "\n".join(
        f"2026/01/01 00:{i // 4:02d}:{i % 4 * 15:02d}.000, 0, {0 if i % 20 == 0 else 97} %, 30994 MiB, 81559 MiB"
        for i in range(120)
    ),
)
