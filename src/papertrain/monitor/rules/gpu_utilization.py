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
    worst: Curve | None = None
    level: State = "normal"
    use = 101.0
    for card in cards:
        c = _telemetry.after_start(card.use)
        if len(c) < (10 if card.certain else 40):
            continue
        value = usual(c.values)
        state: State = "critical" if value < 50 else "warning" if value < 80 else "normal"
        high = quantile(c.values, 0.95)
        if state == "critical" and not card.certain and (value >= 30 or card.memory is None):
            # A counter of the machine beside a run that goes on: waste, not failure; without memory it is not even
            # known whether the run uses this card.
            state = "warning"
        if state == "warning" and not card.certain and value >= 60 and high >= 70:
            state = "normal"
        if value < use:
            worst, level, use = c, state, value
    if worst is None:
        return
    names = ", ".join(c.name for c in cards)
    if level == "normal":
        yield Verdict(
            rule=RULE.id,
            signal="gpu_utilization",
            level="normal",
            says=say("{use:.0f} % on the run's own cards ({names})", use=use, names=names),
        )
        return
    burst = quantile(worst.values, 0.95) >= 70 and quantile(worst.values, 0.05) < 10
    why = (
        say("in bursts: the card waits for data")
        if burst
        else say("all the time: batch too small, or another bottleneck")
    )
    says = say("{use:.0f} % on the run's cards ({names}), {why}", use=use, names=names, why=why)
    yield verdict(
        RULE.id, "gpu_utilization", level, says, worst, [0, len(worst) // 2, -1], cls="throughput-straggler-gpu"
    )


def usual(values: list[float]) -> float:
    """Median over windows of ten minutes of the mean, which pauses may lower by at most 15 points."""
    return median(
        [max(mean(w), min(median(w), mean(w) + PAUSES)) for w in _telemetry.windows(values)] or [mean(values)]
    )


RULE = Rule(
    id="TR112",
    name="gpu-underused",
    level="warning",
    check=check,
    what="Utilisation of the cards on which the run holds memory, as the median over ten-minute windows after start-up; pauses for evaluation "
    "and checkpoints may cost 15 points. Normal above 80 %, warning 50 to 80 %, critical below 50 %. Counters of W&B, which cover the machine, "
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
