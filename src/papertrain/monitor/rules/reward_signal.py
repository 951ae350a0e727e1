"""TR126: reinforcement learning without anything to learn from."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source
from papertrain.monitor.curve import Curve
from papertrain.monitor.history import History
from papertrain.monitor.rules import _onset
from papertrain.monitor.rules._say import show, verdict
from papertrain.monitor.stats import deviation, mean, median
from papertrain.monitor.verdict import Verdict

POINTS = 20


def check(run: History) -> Iterator[Verdict]:
    if run.task not in ("grpo", "ppo", "rl"):
        return
    zero = run.one("zero_std")
    if zero is not None and len(zero.finite()) >= POINTS:
        f = zero.finite()
        late = f.values[-POINTS:]
        if min(late) >= 1.0:
            since = _onset.trailing(f.values, [v >= 1.0 for v in f.values])
            yield verdict(
                RULE.id,
                "reward_margin",
                "critical",
                say("no group has a difference in reward at the last {n} rows: nothing is learned", n=len(f) - since),
                f,
                [since, -1],
                cls="grpo-zero-advantage",
            )
            return
        if mean(late) > 0.8 and median(late) > 0.8:
            yield verdict(
                RULE.id,
                "reward_margin",
                "warning",
                say("{percent:.0f} % of the groups have no difference in reward", percent=100 * mean(late)),
                f,
                [_onset.trailing(f.values, [v > 0.6 for v in f.values]), -1],
                cls="grpo-zero-advantage",
            )
            return
    reward = run.one("reward")
    if reward is None or len(reward.finite()) < POINTS:
        return
    r = reward.finite()
    spread = run.one("reward_std")
    still = spread is None or all(v == 0 for v in spread.values[-POINTS:])
    if len(set(r.values)) == 1 and still and run.task == "grpo":
        yield verdict(
            RULE.id,
            "reward_margin",
            "critical",
            say("reward is {value} at every row", value=show(r.values[0])),
            r,
            [0, -1],
            cls="grpo-zero-advantage",
        )
        return
    found = collapse(r)
    if found:
        yield found


def collapse(r: Curve) -> Verdict | None:
    """The reward is back below where it began, after it had risen."""
    y, n = r.values, len(r)
    if n < 4 * POINTS:
        return None
    w = max(POINTS, n // 10)
    means = [mean(y[i : i + w]) for i in range(0, n - w + 1, max(1, w // 2))]
    best, start, now = max(means), mean(y[:w]), mean(y[-w:])
    noise = deviation(y[-w:]) + deviation(y[:w])
    error = 3 * noise / w**0.5
    if best - start > error and start - now > error and best - now > 0.5 * abs(best):
        at = means.index(best) * max(1, w // 2)
        says = say("reward fell from {best} to {now}, below where it began", best=show(best), now=show(now))
        return verdict(
            RULE.id, "reward_margin", "critical", says, r, [min(n - 1, at + w), -1], cls="divergence-lr-too-high"
        )
    return None


RULE = Rule(
    id="TR126",
    name="reward-no-signal",
    level="critical",
    check=check,
    applies="Reinforcement learning.",
    what="In GRPO: at the last 20 rows every group has the same reward within (critical), or 80 % of the groups have (warning); the reward is the same at every "
    "row (critical). In any reinforcement learning: the reward had risen and is now below where it began, beyond three standard errors (critical).",
    why="The advantage of a group without differences is zero: the step changes nothing.",
    known_problems="Rewards are noisy: a fall inside the noise is not reported.",
    source=Source(kind="code", ref="axolotl-ai-cloud/axolotl docs: training stability, table of GRPO signals"),
    fires="\n".join(
        f"{{'loss': 0.0, 'reward': 0.0, 'reward_std': 0.0, 'frac_reward_zero_std': 1.0, 'epoch': {i / 100}}}"
        for i in range(1, 41)
    ),
    quiet="\n".join(
        f"{{'loss': 0.0, 'reward': {0.2 + 0.005 * i:.3f}, 'reward_std': 0.2, 'frac_reward_zero_std': 0.3, 'epoch': {i / 100}}}"
        for i in range(1, 41)
    ),
)
