"""TR121: the policy leaves its reference."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source
from papertrain.monitor.history import History
from papertrain.monitor.rules._say import show, verdict
from papertrain.monitor.stats import median
from papertrain.monitor.verdict import Verdict

POINTS = 10


def check(run: History) -> Iterator[Verdict]:
    if run.task not in ("grpo", "ppo", "rl", "kto"):
        return
    c = run.one("kl")
    if c is not None and len(c) >= POINTS:
        odd = list(c.odd())
        if odd and odd[-1] >= len(c) - 3:
            yield verdict(
                RULE.id,
                "kl",
                "critical",
                say("kl is {value} at {unit} {step}", value=show(c.values[odd[0]]), step=c.steps[odd[0]], unit=c.word),
                c,
                [odd[0]],
                cls="divergence-lr-too-high",
            )
            return
        c = c.finite()
        now, before = median(c.values[-POINTS:]), median(c.values[: 2 * POINTS])
        if now > 0.5 and now > 2 * before:
            first = next(i for i, v in enumerate(c.values) if v > 0.5 and median(c.values[i : i + 5]) > 0.5)
            says = say(
                "kl is {now}, smoothed, since {unit} {step}; up to 0.5 a token is usual",
                now=show(now),
                step=c.steps[first],
                unit=c.word,
            )
            yield verdict(
                RULE.id, "kl", "critical" if now > 2 else "warning", says, c, [first, -1], cls="divergence-lr-too-high"
            )
    total = run.one("kl_sum")
    if total is not None and len(total.finite()) >= POINTS:
        f = total.finite()
        if median(f.values[-POINTS:]) < -1:
            says = say(
                "kl is negative ({value}), which a divergence cannot be: padding is counted",
                value=show(median(f.values[-POINTS:])),
            )
            yield verdict(RULE.id, "kl", "warning", says, f, [-1], cls="ppo-negative-kl-padding")


RULE = Rule(
    id="TR121",
    name="kl-high",
    level="warning",
    check=check,
    applies="Reinforcement learning and KTO.",
    what="In reinforcement learning the median `kl` of the last ten rows is above 0.5 (warning) or 2 (critical) and has doubled since the start, "
    "or is not finite. `objective/kl`, a sum over the answer, is only tested for being negative.",
    why="The reward is then earned far from the reference model, often by a trick.",
    known_problems="Units differ by program; only a per-token `kl` is compared with these limits.",
    source=Source(kind="code", ref="axolotl-ai-cloud/axolotl docs: training stability, table of GRPO signals"),
    fires="\n".join(
        f"{{'loss': 0.0, 'reward': 0.5, 'reward_std': 0.2, 'kl': {0.001 * 1.12**i:.5f}, 'epoch': {i / 100}}}"
        for i in range(1, 81)
    ),
    quiet="\n".join(
        f"{{'loss': 0.0, 'reward': 0.5, 'reward_std': 0.2, 'kl': {0.001 * i:.5f}, 'epoch': {i / 100}}}"
        for i in range(1, 81)
    ),
)
