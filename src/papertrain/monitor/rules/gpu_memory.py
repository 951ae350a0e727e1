"""TR118: device memory grows towards its end."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.monitor.history import History
from papertrain.monitor.rules import _onset, _telemetry
from papertrain.monitor.rules._say import PROPOSAL, show, verdict
from papertrain.monitor.verdict import Verdict


def check(run: History) -> Iterator[Verdict]:
    cards = [c.memory for c in _telemetry.cards(run) if c.memory is not None and len(c.memory) >= 8]
    logged = [f for c in run.every("gpu_memory") if len(f := c.finite()) >= 8]
    if not cards and not logged:
        return
    worst = None
    for c in [*cards, *logged]:
        growth = creeping(c.values)
        full = max(c.values[-20:]) if c in cards else 0.0
        if growth and (worst is None or growth > worst[1]):
            worst = (c, growth, full)
    if worst is None:
        c = (cards or logged)[0]
        unit = " %" if cards else ""
        yield Verdict(
            rule=RULE.id,
            signal="gpu_memory",
            level="normal",
            says=say("flat, at most {top}{unit} ({name})", top=show(max(c.values)), unit=unit, name=c.raw),
            seen=(c.at(len(c) - 1),),
        )
        return
    c, growth, full = worst
    ahead = (1 - run.progress) / max(run.progress, 0.01) if run.progress else None
    if full and full + growth * (ahead if ahead is not None else 1.0) * 100 < 100 and full < 97:
        yield Verdict(
            rule=RULE.id,
            signal="gpu_memory",
            level="normal",
            says=say("grows slowly, to {top:.0f} %", top=full),
            seen=(c.at(len(c) - 1),),
        )
        return
    says = say(
        "memory grew by {percent:.0f} % over the second half and still grows, to {top}",
        percent=100 * growth,
        top=show(c.values[-1]),
    )
    yield verdict(RULE.id, "gpu_memory", "warning", says, c, [_onset.rise(c.values), -1], cls="oom-fragmentation")


def creeping(y: list[float]) -> float:
    """Share by which the maxima of eight blocks of the second half grow, if they never fall; else 0."""
    half = y[len(y) // 2 :]
    if len(half) < 16:
        return 0.0
    size = len(half) // 8
    tops = [max(half[i * size : (i + 1) * size]) for i in range(8)]
    rising = all(b >= a for a, b in itertools.pairwise(tops)) and sum(b > a for a, b in itertools.pairwise(tops)) >= 6
    growth = (tops[-1] - tops[0]) / tops[0] if tops[0] > 0 else 0.0
    return growth if rising and growth > 0.1 else 0.0


RULE = Rule(
    id="TR118",
    name="gpu-memory-growth",
    level="warning",
    check=check,
    applies="Every task.",
    what="The peak of each eighth of the second half of the run is higher than the one before, by more than 10 % in all, and goes on so to the "
    "capacity before the planned end (where capacity is known).",
    why="Memory that creeps up ends in an out-of-memory error far from its cause: a tensor that is kept, a cache, fragmentation.",
    known_problems="Sequences of different length let the peak grow early in a run: only the second half is judged.",
    source=PROPOSAL,
    fires="\n".join(
        f"step={i} loss={2 - 0.005 * i:.3f} gpu_memory_gb={20 + 0.2 * max(0, i - 20):.1f}" for i in range(1, 121)
    ),
    quiet="\n".join(
        f"step={i} loss={2 - 0.005 * i:.3f} gpu_memory_gb={20 + min(i, 30) * 0.2 + i % 3 * 0.1:.1f}"
        for i in range(1, 121)
    ),
)
