"""TR119: token accuracy falls while the loss falls."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.monitor.history import History
from papertrain.monitor.rules import _onset
from papertrain.monitor.rules._say import PROPOSAL, show, verdict
from papertrain.monitor.stats import trailing_median, window
from papertrain.monitor.verdict import Verdict


def check(run: History) -> Iterator[Verdict]:
    c = run.one("token_accuracy")
    if c is None or len(c.finite()) < 24:
        return
    c = c.finite()
    w = window(len(c))
    m = trailing_median(c.values, w)
    best = max(range(w - 1, len(c)), key=m.__getitem__)
    late = c.values[-w:]
    if c.steps[-1] > run.warm_until and run.far_enough(0.25) and max(late) < 0.05:
        yield verdict(
            RULE.id,
            "token_accuracy",
            "warning",
            say("token accuracy is {value}: near nothing", value=show(m[-1])),
            c,
            [-1],
            cls="low-score-wrong-template",
        )
    elif m[best] - m[-1] > 0.05 and max(late) < m[best]:
        since = _onset.fall(c.values, max(0, best - w + 1))
        says = say(
            "token accuracy fell from {best} to {now}, smoothed, since {unit} {step}",
            best=show(m[best]),
            now=show(m[-1]),
            step=c.steps[since],
            unit=c.word,
        )
        yield verdict(RULE.id, "token_accuracy", "warning", says, c, [since, best, -1], cls="divergence-lr-too-high")


RULE = Rule(
    id="TR119",
    name="token-accuracy-falls",
    level="warning",
    check=check,
    applies="Supervised fine-tuning.",
    what="The median token accuracy of the last W rows is 0.05 below its best such median; or it is below 0.05 after warm-up and a quarter of the plan.",
    why="It moves against the loss in a healthy run; when both fall, masking or packing has changed.",
    known_problems="A different mixture of data later in the run changes it too.",
    source=PROPOSAL,
    fires="\n".join(
        f"step={i} loss={2 - 0.005 * i:.3f} mean_token_accuracy={0.6 - (0.003 * (i - 60) if i > 60 else 0):.3f}"
        for i in range(1, 121)
    ),
    quiet="\n".join(
        f"step={i} loss={2 - 0.005 * i:.3f} mean_token_accuracy={0.5 + 0.002 * i:.3f}" for i in range(1, 121)
    ),
)
