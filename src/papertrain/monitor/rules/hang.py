"""TR125: all cards spin and nothing moves."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.monitor.history import History
from papertrain.monitor.rules import _onset, _telemetry
from papertrain.monitor.rules._say import PROPOSAL, verdict
from papertrain.monitor.stats import mean, median
from papertrain.monitor.verdict import Verdict

SAMPLES = 20


def check(run: History) -> Iterator[Verdict]:
    cards = [
        c
        for c in _telemetry.cards(run)
        if c.power is not None and len(c.power) >= 3 * SAMPLES and len(c.use) >= 3 * SAMPLES
    ]
    if not cards:
        return
    spinning = []
    for card in cards:
        assert card.power is not None
        power = card.power.values
        # The hang may be most of the trace: what the card draws when it computes is what its busiest stretch drew.
        usual = max(median(w) for w in _telemetry.windows(power, SAMPLES))
        late = power[-SAMPLES:]
        quiet = max(late) < 0.65 * usual and max(late) - min(late) < 0.1 * usual
        if min(card.use.values[-SAMPLES:]) >= 97 and quiet:
            spinning.append((card, usual, mean(late)))
    if spinning and len(spinning) == len(cards):
        card, usual, now = spinning[0]
        assert card.power is not None
        since = _onset.trailing(card.power.values, [p < 0.65 * usual for p in card.power.values])
        says = say(
            "100 % utilisation at {now:.0f} W instead of {usual:.0f} W for {n} samples: a collective spins and no rank moves",
            now=now,
            usual=usual,
            n=len(card.power) - since,
        )
        found = verdict(
            RULE.id, "gpu_utilization", "critical", says, card.use, [since, -1], cls="hang-out-of-sync-large-scale"
        )
        yield _telemetry.dated(run, found, card.use, since)


RULE = Rule(
    id="TR125",
    name="hang-spinning-collective",
    level="critical",
    check=check,
    applies="Every task on several cards; needs telemetry with power.",
    what="For 20 samples every card of the run shows at least 97 % utilisation at a constant power below 65 % of its usual.",
    why="Ranks that wait in a collective keep the card busy with a spinning kernel: the run looks alive and does nothing until the time-out.",
    known_problems="Needs power in the telemetry. A memory-bound phase draws less power too, but not constantly.",
    source=PROPOSAL,
    fires="timestamp, index, utilization.gpu [%], memory.used [MiB], power.draw [W]\n"
    + "\n".join(
        f"2026/01/01 00:{i // 4:02d}:{i % 4 * 15:02d}.000, 0, 100 %, 30994 MiB, {310 + i % 9 if i < 80 else 120} W"
        for i in range(120)
    ),
    quiet="timestamp, index, utilization.gpu [%], memory.used [MiB], power.draw [W]\n"
    + "\n".join(
        f"2026/01/01 00:{i // 4:02d}:{i % 4 * 15:02d}.000, 0, 100 %, 30994 MiB, {310 + i % 9} W" for i in range(120)
    ),
)
