"""TR120: preference training prefers the wrong answers, or none."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.monitor.curve import Curve
from papertrain.monitor.history import History
from papertrain.monitor.rules import _onset
from papertrain.monitor.rules._say import PROPOSAL, show, verdict
from papertrain.monitor.stats import mean, median
from papertrain.monitor.verdict import Verdict

POINTS = 10


def check(run: History) -> Iterator[Verdict]:
    if run.task != "dpo":
        return
    margin = finite(run.one("reward_margin"))
    if margin is not None and len(margin) >= 2 * POINTS:
        y = margin.values
        if margin.steps[-1] > run.warm_until and run.far_enough(0.1) and max(y[-POINTS:]) < 0:
            since = _onset.trailing(y, [v < 0 for v in y])
            says = say(
                "the margin has been negative for {n} rows, {value} at {unit} {step}: rejected answers are preferred",
                n=len(y) - since,
                value=show(y[-1]),
                step=margin.steps[-1],
                unit=margin.word,
            )
            yield verdict(RULE.id, "reward_margin", "critical", says, margin, [since, -1], cls="dpo-lr-too-high")
            return
        if all(v == 0 for v in y[1:]):
            says = say("margins are exactly 0 after the first step: policy and reference never differ")
            yield verdict(RULE.id, "reward_margin", "critical", says, margin, [1, -1], cls="dpo-loss-stuck-at-ln2")
            return
    accuracy = finite(run.one("reward_accuracy")) or finite(
        next((c for c in run.every("metric_plain") if c.raw == "accuracy"), None)
    )
    if (
        accuracy is not None
        and len(accuracy) >= 3 * POINTS
        and accuracy.steps[-1] > run.warm_until
        and run.far_enough(0.25)
    ):
        late = accuracy.values[-max(POINTS, len(accuracy) // 5) :]
        if mean(late) < 0.55 and median(late) < 0.6:
            says = say("preference accuracy is {value}: no better than guessing", value=show(mean(late)))
            since = _onset.trailing(late, [v < 0.6 for v in late])
            since = 0 if max(accuracy.values) < 0.65 else len(accuracy) - len(late) + since
            yield verdict(RULE.id, "reward_margin", "warning", says, accuracy, [since, -1], cls="dpo-loss-stuck-at-ln2")
    chosen = finite(run.one("reward_chosen"))
    if chosen is not None and margin is not None and len(chosen) >= 4 * POINTS:
        late = chosen.values[-POINTS:]
        if (
            mean(late) < -20
            and mean(late) < 3 * mean(chosen.values[: 2 * POINTS])
            and late[-1] <= min(chosen.values[:-POINTS], default=0)
        ):
            says = say(
                "rewards of the chosen answers fall to {value}: both answers are pushed down", value=show(mean(late))
            )
            since = _onset.fall(chosen.values)
            yield verdict(RULE.id, "reward_margin", "warning", says, chosen, [since, -1], cls="dpo-lr-too-high")


def finite(c: Curve | None) -> Curve | None:
    return c.finite() if c is not None and len(c) else None


RULE = Rule(
    id="TR120",
    name="reward-margin-wrong",
    level="critical",
    check=check,
    applies="Preference training: DPO and its relatives.",
    what="In preference training: the margin is negative at the last ten rows after warm-up (critical) or exactly 0 after the first step (critical); "
    "the accuracy is below 0.55 after a quarter of the plan (warning); the reward of chosen answers falls below -20 while the margin grows (warning).",
    why="The model learns to prefer the rejected answers, or nothing.",
    known_problems="Loss ln 2, margin 0 and accuracy 0.5 are where such training begins.",
    source=PROPOSAL,
    fires="\n".join(
        f"{{'loss': 0.75, 'rewards/margins': {-0.02 * i:.3f}, 'rewards/accuracies': 0.4, 'epoch': {i / 100}}}"
        for i in range(1, 61)
    ),
    quiet="\n".join(
        f"{{'loss': {0.693 - 0.004 * i:.4f}, 'rewards/margins': {0.02 * i:.3f}, 'rewards/accuracies': {min(0.9, 0.5 + 0.01 * i):.2f}, 'epoch': {i / 100}}}"
        for i in range(1, 61)
    ),
)
