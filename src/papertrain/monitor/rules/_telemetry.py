"""Which cards are the run's own, and what they did."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from math import isnan
from time import localtime, strftime

from msgspec import structs

from papertrain.core.values import Value
from papertrain.monitor.curve import Curve
from papertrain.monitor.history import History
from papertrain.monitor.stats import median
from papertrain.monitor.verdict import Verdict

ABSOLUTE = 1e9
"""Seconds: a smaller time counts from the start of a process."""
INDEX = re.compile(r"(?:gpu\.|/|_)(\d+)(?:\.\w+)?$")


class Card(Value, frozen=True, kw_only=True):
    """One card's samples; `memory` in percent of its capacity where that is known."""

    name: str
    use: Curve
    power: Curve | None = None
    memory: Curve | None = None
    certain: bool = True


def cards(run: History) -> list[Card]:
    """The cards on which the run's processes hold memory; a machine's other cards say nothing about it."""
    found = [
        card for c in run.every("gpu_utilization") if len(f := c.finite()) >= 8 and (card := one(run, f)) is not None
    ]
    owned = own_by_process(run)
    if owned:
        return [c for c in found if c.name in owned]
    busy = [c for c in found if c.memory is None or median(c.memory.values) > 3]
    return busy if busy else found


def one(run: History, use: Curve) -> Card | None:
    m = INDEX.search(use.raw)
    name = m[1] if m else "0"
    system = use.raw.startswith("system/")
    power = pick(run, f"system/gpu.{name}.powerWatts" if system else f"power.draw/{name}")
    memory = pick(run, f"system/gpu.{name}.memoryAllocated" if system else f"memory.percent/{name}")
    return Card(name=name, use=use, power=power, memory=memory, certain=not system)


def pick(run: History, raw: str) -> Curve | None:
    for entries in run.columns.values():
        for name, table, column in entries:
            if name == raw:
                c = run.make("telemetry", name, table, column).finite()
                return c if len(c) else None
    return None


def own_by_process(run: History) -> set[str]:
    """W&B records `gpu.process.N.…` for the cards of the run's own process."""
    return {m[1] for name in run.raw_names if (m := re.match(r"system/gpu\.process\.(\d+)\.", name))}


def step_of(run: History, c: Curve, i: int) -> int | None:
    """The run's step at sample i: its own, else that of the last row before the sample's time; None where the two cannot be
    compared."""
    if not c.ordinal:
        return c.steps[i]
    loss, time = run.raw_loss, c.times[i]
    if loss is None or not len(loss) or not time > ABSOLUTE or not loss.times[0] > ABSOLUTE:
        return None
    return loss.steps[max(0, bisect_right(loss.times, time) - 1)]


def dated(run: History, found: Verdict, c: Curve, i: int) -> Verdict:
    """The verdict, begun at the run's step at sample i."""
    loss = run.raw_loss
    unit = c.unit if not c.ordinal or loss is None else loss.unit
    return structs.replace(found, since_step=step_of(run, c, i), unit=unit)


def clock(c: Curve, i: int) -> str:
    """The sample's time for people; empty where it has none."""
    return strftime("%Y-%m-%d %H:%M", localtime(c.times[i])) if c.times[i] > ABSOLUTE else ""


def held(card: Card) -> Curve:
    """The samples while the run held the card: after its end the memory is given back and the card rests."""
    c, m = card.use, card.memory
    if m is None or len(m) != len(c) or not len(c):
        return c
    usual = median(m.values)
    end = len(c)
    while end > 0 and m.values[end - 1] < 0.5 * usual:
        end -= 1
    return c.take(list(range(end)))


def after_start(c: Curve) -> Curve:
    """Without the loading at the start: 20 minutes, at most a fifth of the samples."""
    n = len(c)
    skip = n // 5
    if not isnan(c.times[0]):
        skip = min(skip, next((i for i, t in enumerate(c.times) if t - c.times[0] > 1200), skip))
    return c.tail(skip)


def windows(values: Sequence[float], size: int = 40) -> list[list[float]]:
    """Stretches of about ten minutes at one sample in 15 s."""
    size = width(values, size)
    return [list(values[i : i + size]) for i in range(0, len(values) - size + 1, size)]


def width(values: Sequence[float], size: int = 40) -> int:
    """Samples of one window."""
    return min(size, max(4, len(values) // 8 if len(values) >= 64 else len(values) // 4))
