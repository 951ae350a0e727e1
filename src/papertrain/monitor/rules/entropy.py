"""TR122: the policy has become certain of everything."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source
from papertrain.monitor.history import History
from papertrain.monitor.rules import _onset
from papertrain.monitor.rules._say import show, verdict
from papertrain.monitor.stats import median
from papertrain.monitor.verdict import Verdict

POINTS = 20


def check(run: History) -> Iterator[Verdict]:
    c = run.one("entropy")
    if c is None or run.task not in ("grpo", "ppo") or len(c.finite()) < 3 * POINTS:
        return
    c = c.finite()
    start, late = median(c.values[:POINTS]), c.values[-POINTS:]
    now = median(late)
    if start <= 0.02 or now >= 0.3 * start or max(late) > 0.6 * start:
        return
    strong = now < 0.01 or now < 0.05 * start
    first = _onset.kink([-v for v in c.values], -start)
    says = say(
        "entropy fell from {start} to {now} nat a token, smoothed, since {unit} {step}",
        start=show(start),
        now=show(now),
        step=c.steps[first],
        unit=c.word,
    )
    yield verdict(
        RULE.id, "entropy", "critical" if strong else "warning", says, c, [first, -1], cls="grpo-zero-advantage"
    )


RULE = Rule(
    id="TR122",
    name="entropy-collapse",
    level="warning",
    check=check,
    applies="GRPO and PPO.",
    what="In reinforcement learning the median entropy of the last 20 rows is below 30 % of that of the first 20 (warning), below 5 % or 0.01 nat (critical).",
    why="Without variety all answers of a group are alike: no difference in reward, nothing to learn.",
    known_problems="Single dips recover. The level depends on the sampling temperature.",
    source=Source(kind="code", ref="axolotl-ai-cloud/axolotl docs: training stability, table of GRPO signals"),
    fires="\n".join(
        f"{{'loss': 0.0, 'reward': 0.5, 'reward_std': 0.2, 'entropy': {0.4 * 0.93**i:.5f}, 'epoch': {i / 100}}}"
        for i in range(1, 101)
    ),
    quiet="\n".join(
        f"{{'loss': 0.0, 'reward': 0.5, 'reward_std': 0.2, 'entropy': {0.4 - 0.001 * i - (0.2 if i == 50 else 0):.5f}, 'epoch': {i / 100}}}"
        for i in range(1, 101)
    ),
)
