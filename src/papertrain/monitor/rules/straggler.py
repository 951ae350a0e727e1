"""TR137: one rank is slower than the others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source
from papertrain.monitor.curve import Curve
from papertrain.monitor.history import History
from papertrain.monitor.names import signal_of
from papertrain.monitor.rules import _onset, _telemetry
from papertrain.monitor.rules._say import verdict
from papertrain.monitor.stats import median, quantile
from papertrain.monitor.verdict import State, Verdict

RANK = re.compile(r"(?:^|[/_.\- ])(?:global[_-]?)?rank[/_.\-= ]?(\d{1,6})(?=$|[/_.\- ])|^(\d{1,6})(?=/)", re.I)
POINTS = 20
RANKS = 3
SLOW, VERY_SLOW = 1.10, 1.40


def check(run: History) -> Iterator[Verdict]:
    ranks = by_rank(run)
    if (len(ranks) >= RANKS and (found := slowest(ranks)) is not None) or (found := weakest(run)) is not None:
        yield found


def by_rank(run: History) -> dict[int, tuple[Curve, bool]]:
    """Rank → its step times (False) or speeds (True): from the name of a column, else from the file of each rank."""
    found: dict[int, tuple[Curve, bool]] = {}
    for entries in run.columns.values():
        for raw, table, column in entries:
            m = RANK.search(raw)
            name = (raw[: m.start()] + raw[m.end() :]).strip("/_.- ") if m else raw
            rank = m or RANK.search(Path(table.file).stem) or RANK.search(Path(table.file).parent.name)
            signal = signal_of(name)
            if rank is None or signal not in ("step_seconds", "step_ms", "throughput"):
                continue
            c = run.make(signal, raw, table, column).finite()
            key = int(next(g for g in rank.groups() if g is not None))
            if len(c) >= 2 * POINTS and key not in found:
                found[key] = (c, signal == "throughput")
    kinds = {fast for _, fast in found.values()}
    return found if len(kinds) == 1 else {k: v for k, v in found.items() if not v[1]}


def slowest(ranks: dict[int, tuple[Curve, bool]]) -> Verdict | None:
    """Each rank's step time over the median of all ranks at that step."""
    maps = {k: dict(zip(c.steps, c.values)) for k, (c, _) in ranks.items()}
    shared = sorted(set.intersection(*(set(m) for m in maps.values())))
    if len(shared) < 2 * POINTS:
        return None
    usual = {s: median([m[s] for m in maps.values()]) for s in shared}
    best: tuple[float, int, list[float]] | None = None
    for rank, (_, fast) in ranks.items():
        times = [
            usual[s] / maps[rank][s] if fast else maps[rank][s] / usual[s]
            for s in shared
            if usual[s] > 0 < maps[rank][s]
        ]
        if len(times) < len(shared):
            continue
        late = times[-POINTS:]
        if quantile(late, 0.1) > 1 + (SLOW - 1) / 2 and (best is None or median(late) > best[0]):
            best = (median(late), rank, times)
    if best is None or best[0] <= SLOW:
        return None
    ratio, rank, times = best
    c = ranks[rank][0]
    since = c.steps.index(shared[_onset.trailing(times, [t > 1 + (ratio - 1) / 2 for t in times])])
    level: State = "critical" if ratio > VERY_SLOW else "warning"
    says = say("rank {rank} takes {percent:.0f} % longer for a step than the {n} ranks usually do, since {unit} {step}",
               rank=rank, percent=100 * (ratio - 1), n=len(ranks), step=c.steps[since], unit=c.word)  # fmt: skip
    return verdict(RULE.id, "throughput", level, says, c, [since, since - 1, -1], cls="throughput-straggler-gpu")


def weakest(run: History) -> Verdict | None:
    """Of four or more cards that are all busy, one draws a third less power than the others, at every late sample."""
    cards = [c for c in _telemetry.cards(run) if c.power is not None and len(c.power) >= 3 * POINTS and c.certain]
    if len(cards) < 4:
        return None
    late = {c.name: median(c.power.values[-2 * POINTS :]) for c in cards if c.power is not None}
    if any(median(c.use.values[-2 * POINTS :]) < 80 for c in cards):
        return None
    usual = median(list(late.values()))
    name, power = min(late.items(), key=lambda x: x[1])
    card = next(c for c in cards if c.name == name)
    assert card.power is not None
    rest = [v for k, v in late.items() if k != name]
    if power >= 0.67 * usual or min(rest) < 0.85 * usual or max(card.power.values[-2 * POINTS :]) >= 0.85 * usual:
        return None
    since = _onset.fall(card.power.values)
    says = say("card {name} draws {power:.0f} W while the others draw {usual:.0f} W at full utilisation: it is throttled, or waits", name=name, power=power, usual=usual)  # fmt: skip
    found = verdict(RULE.id, "throughput", "warning", says, card.power, [since, -1], cls="throughput-straggler-gpu")
    return _telemetry.dated(run, found, card.power, since)


RULE = Rule(
    id="TR137",
    name="straggler-rank",
    level="warning",
    check=check,
    applies="Every task on three or more ranks.",
    what="Among three or more ranks that log their step time or speed (a column or a file per rank), one takes more than 10 % longer than the median "
    "of all ranks at the same step, as the median of the last 20 rows, nine in ten of them slow (40 %: critical). Without such columns: of four or more busy "
    "cards one draws a third less power than the others over the last 40 samples (warning).",
    why="All ranks wait for the slowest one at every step: a tenth of one card costs a tenth of all.",
    known_problems="Stages of a pipeline differ by design. Ranks that only log the whole step log the same time: what is needed is the time of "
    "their own forward and backward pass.",
    source=Source(kind="rule", ref="docs/design/0005-monitoring-rules.md"),
    fires="step,loss," + ",".join(f"step_time/rank_{r}" for r in range(4)) + "\n"
    + "\n".join(f"{i},{2 - 0.005 * i:.3f}," + ",".join(f"{0.5 + 0.01 * ((i + r) % 3) + (0.1 if r == 2 and i > 60 else 0):.3f}" for r in range(4)) for i in range(1, 121)),
    quiet="step,loss," + ",".join(f"step_time/rank_{r}" for r in range(4)) + "\n"
    + "\n".join(f"{i},{2 - 0.005 * i:.3f}," + ",".join(f"{0.5 + 0.01 * ((i + r) % 3) + (0.3 if i % 40 == 0 else 0):.3f}" for r in range(4)) for i in range(1, 121)),
)  # fmt: skip
