"""Shared by the rules: evidence, numbers for people."""

from __future__ import annotations

from collections.abc import Iterable
from math import isnan

from papertrain.core.findings import Signal
from papertrain.core.values import Source
from papertrain.monitor.curve import Curve
from papertrain.monitor.verdict import State, Verdict

PROPOSAL = Source(kind="rule", ref="docs/design/0005-monitoring-rules.md")
"""Thresholds chosen on real logs and on `bench/monitor.py`; the page says what failed."""
LOSS_COUNTS = "Every task but GRPO, PPO and other reinforcement learning, and adversarial training: there a rising or zero loss says nothing."
"""Where `History.loss_counts` holds."""


def show(x: float) -> str:
    """A logged value as a person would read it."""
    if isnan(x):
        return "nan"
    if x != 0 and (abs(x) >= 1e5 or abs(x) < 1e-3):
        return f"{x:.2e}"
    return f"{x:.4g}"


def seen(c: Curve, points: Iterable[int]) -> tuple[Signal, ...]:
    """Some points of a curve as evidence."""
    n = len(c)
    kept: list[int] = []
    for i in points:
        i = i + n if i < 0 else i
        if 0 <= i < n and i not in kept:
            kept.append(i)
    return tuple(c.at(i) for i in kept)


def verdict(
    rule: str,
    signal: str,
    level: State,
    says: str,
    c: Curve,
    points: Iterable[int],
    *,
    since: int | None = None,
    cls: str = "",
) -> Verdict:
    """A verdict whose first evidence is where it began."""
    evidence = seen(c, points)
    step = since if since is not None else (evidence[0].step if evidence else None)
    return Verdict(
        rule=rule, signal=signal, level=level, says=says, since_step=step, unit=c.unit, seen=evidence, cls=cls
    )
