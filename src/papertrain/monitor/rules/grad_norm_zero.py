"""TR114: the gradient norm is exactly zero."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.monitor.curve import Curve
from papertrain.monitor.history import History
from papertrain.monitor.rules._say import LOSS_COUNTS, PROPOSAL, verdict
from papertrain.monitor.stats import mean, median
from papertrain.monitor.verdict import Verdict


def check(run: History) -> Iterator[Verdict]:
    c = run.one("grad_norm")
    if c is None or len(c) < 4 or not run.loss_counts:
        return
    c = c.finite()
    zero = [i for i, v in enumerate(c.values) if v == 0.0]
    n = len(c)
    if not zero or at_floor(run):
        return
    if len(zero) == n:
        if n >= 5 and not learned(run) and run.loss is not None:
            says = say(
                "gradient norm is 0 at all {n} rows and the loss does not fall: no gradient reaches the weights", n=n
            )
            yield verdict(RULE.id, "grad_norm", "critical", says, c, [0, -1], cls="no-grad-checkpointing-peft")
        return
    tail = n - 1 - max((i for i, v in enumerate(c.values) if v != 0.0), default=-1)
    if tail >= 5:
        says = say("gradient norm is 0 since {unit} {step}", step=c.steps[n - tail], unit=c.word)
        yield verdict(RULE.id, "grad_norm", "critical", says, c, [n - tail, n - tail - 1, -1], cls="loss-zero-fp16")
    elif len([i for i in zero if i > 2]) >= 3 and len(zero) > 0.02 * n:
        says = say(
            "gradient norm is exactly 0 at {k} of {n} rows: skipped steps, or batches without labels", k=len(zero), n=n
        )
        yield verdict(RULE.id, "grad_norm", "warning", says, c, zero[:4], cls="nan-all-labels-masked")


def at_floor(run: History) -> bool:
    """The loss is so small that a norm rounds to zero."""
    c: Curve | None = run.loss
    return c is not None and len(c) >= 3 and 0 <= median(c.values[-5:]) < 1e-3 and not run.hidden


def learned(run: History) -> bool:
    c = run.loss
    if c is None or len(c) < 4:
        return True
    third = max(1, len(c) // 3)
    return mean(c.values[-third:]) < 0.98 * mean(c.values[:third]) or mean(c.values[-third:]) > 1.2 * mean(
        c.values[:third]
    )


RULE = Rule(
    id="TR114",
    name="grad-norm-zero",
    level="critical",
    check=check,
    applies=LOSS_COUNTS + " In GRPO a group without a difference in reward has no gradient.",
    what="The gradient norm is exactly 0. Critical: at every row while the loss does not fall, or at the last five rows. Warning: at three rows "
    "and more than 2 % of them.",
    why="A step without gradient changes nothing.",
    known_problems="Some engines print 0.000 at every row because they do not measure it; a loss at its floor (below 1e-3) rounds to 0. In GRPO "
    "groups without a difference in reward have no gradient.",
    source=PROPOSAL,
    fires="\n".join(f"step={i} loss={2.0 + 0.01 * (i % 3):.2f} grad_norm=0.0" for i in range(1, 21)),
    quiet="\n".join(f"step={i} loss={2 - 0.05 * i:.2f} grad_norm=0.000" for i in range(1, 21)),
)
